#include "api/device_lanes.h"

#include <algorithm>
#include <iterator>

#include "framework/base/error.h"
#include "framework/device/runtime.h"

namespace lenslet {
namespace {

// `known`: the GPU whose memory it is, if the caller states it; else the CPU.
void check_device_memory(Device device, Device known, const void* data, size_t alignment, const char* what) {
  Device home = known;
  if (!home.is_cuda()) {
    const runtime::MemoryInfo found = runtime::memory_at(data);
    if (found.kind == runtime::MemoryKind::kDevice) home = Device::cuda(found.ordinal);
  }
  if (home != device)
    throw UsageError(concat("the ", what, " must be memory of ", device.to_string(), ", found ",
                            home.is_cuda() ? "that of " + home.to_string() : "host memory"));
  if (const size_t past = reinterpret_cast<uintptr_t>(data) % alignment; past != 0)
    throw UsageError(concat("the ", what, " must be aligned to ", alignment, " bytes, found ", past,
                            " bytes past such an address"));
}

}  // namespace

// The alignment is a power of two, so the number of images between two aligned ones is one, too.
int64_t aligned_pass(int64_t limit, size_t image_bytes, size_t answer_bytes) noexcept {
  constexpr size_t kTo = Executable::kEndAlignment;
  int64_t step = 1;
  for (size_t images = 1; images * image_bytes % kTo != 0 || images * answer_bytes % kTo != 0; images *= 2)
    step *= 2;
  return std::max<int64_t>(limit / step, 1) * step;
}

void DeviceLanes::run(const void* images, int64_t count, Answers answers, InputOutput call,
                      const Place& place) {
  const Device device = setup_.device();
  if (!device.is_cuda())
    throw UsageError(
        "the model computes on the CPU, which cannot read the memory of a GPU; load it with a CUDA "
        "device, or pass host memory");
  const bool apart = answers.probabilities != nullptr;
  const DeviceGuard guard(device);
  const Device known = place.known_device();
  check_device_memory(device, known, images, Executable::kEndAlignment, "images");
  check_device_memory(device, known, answers.data, apart ? sizeof(int32_t) : Executable::kEndAlignment,
                      "answers' place");
  if (apart) check_device_memory(device, known, answers.probabilities, sizeof(float), "probabilities' place");
  Stream stream = Stream::borrowed(device, place.stream());
  const uint64_t capture = stream.capture_id();
  const Graph& graph = setup_.graph();
  const size_t image_bytes = bytes_of_image(graph, call.input);
  const size_t answer_bytes = bytes_of_answer(graph, call.output);
  // The whole network at once takes no memory for images and little for the rest, so a call is one pass.
  const bool one_pass = !has_limit_ && setup_.execution(1, call) == Plan::kFused;
  const int64_t max_batch =
      aligned_pass(one_pass ? kMaxModelBatch : pass_limit_, image_bytes, apart ? 0 : answer_bytes);
  for (int64_t done = 0; done < count;) {
    const int64_t batch = std::min(max_batch, count - done);
    const void* const first = static_cast<const char*>(images) + static_cast<size_t>(done) * image_bytes;
    lane(batch, call, capture).run_on_device(first, answers.from(done, answer_bytes), stream);
    done += batch;
  }
}

Lane& DeviceLanes::lane(int64_t batch, InputOutput call, uint64_t capture) {
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return kept.lane->batch() == batch && kept.call.input == call.input && kept.call.output == call.output &&
           kept.fits(capture);
  });
  if (found == kept_.end()) {
    if (capture != 0)
      throw UsageError(concat("the stream records a CUDA graph, and the model is not prepared for ", batch,
                              " images there: make the same call once before the capture"));
    make_room();
    found = kept_.insert(kept_.begin(), {build(batch, call), call, 0});
  }
  if (capture != 0) found->capture = capture;
  std::rotate(kept_.begin(), found, found + 1);
  return *kept_.front().lane;
}

// Drops the least recently used lane that no graph has recorded, if there are many. The runtime waits for the work of
// any stream before it frees memory.
void DeviceLanes::make_room() {
  const auto is_free = [](const Kept& kept) { return kept.capture == 0; };
  if (std::count_if(kept_.begin(), kept_.end(), is_free) < static_cast<std::ptrdiff_t>(kLanesKept)) return;
  kept_.erase(std::next(std::find_if(kept_.rbegin(), kept_.rend(), is_free)).base());
}

std::unique_ptr<Lane> DeviceLanes::build(int64_t batch, InputOutput call) const {
  const InputOutput pass = setup_.pass_for(batch, call);
  if (pass.input != call.input || pass.output != call.output)
    throw UnavailableError(
        concat("a pass of this plan reads ", to_string(pass.input), " and writes ", to_string(pass.output),
               "; in the GPU's memory ", to_string(call.input), " and ", to_string(call.output),
               " are not converted: use plan auto or fused, or pass normalised floats to run()"));
  BuildOptions options = setup_.call_options(batch, pass);
  options.caller_ends = true;
  return std::make_unique<Lane>(setup_.graph(), options);
}

}  // namespace lenslet
