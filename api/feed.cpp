#include "api/feed.h"

#include <cstring>
#include <utility>

#include "framework/base/parallel.h"
#include "framework/measuring/nvtx.h"
#include "models/classifier.h"

namespace lenslet {
bool supports(InputOutput pass, InputOutput call) noexcept {
  return (pass.input == call.input || pass.input == ElementType::kFp32) &&
         (pass.output == call.output || pass.output == ElementType::kFp32);
}

Lane::Lane(const Graph& graph, const BuildOptions& options)
    : Lane(std::make_unique<Executable>(graph, options), nullptr) {}

Lane::Lane(std::unique_ptr<Executable> own, Executable* borrowed)
    : own_(std::move(own)),
      executable_(own_ ? *own_ : *borrowed),
      image_values_(executable_.graph().input_shape().num_elements()),
      answer_values_(executable_.graph().output_shape().num_elements()),
      writes_probabilities_(writes_probabilities(executable_.graph())) {}

size_t Lane::image_bytes(ElementType type) const noexcept {
  return static_cast<size_t>(image_values_) * element_bytes(type);
}

size_t Lane::answer_bytes(ElementType type) const noexcept {
  return type == ElementType::kClass ? sizeof(Prediction)
                                     : static_cast<size_t>(answer_values_) * sizeof(float);
}

void Lane::take(const void* images, int64_t count, ElementType given, void* to) const {
  if (given == ends().input) {
    std::memcpy(to, images, input_bytes(count));
  } else {
    executable_.graph().normalisation().apply(static_cast<const uint8_t*>(images), count * image_values_,
                                              static_cast<float*>(to));
  }
}

void Lane::give(void* answers, int64_t count, ElementType wanted, void* to) const {
  if (wanted == ends().output) {
    std::memcpy(to, answers, output_bytes(count));
    return;
  }
  constexpr int64_t kValuesPerTask = 4096;
  auto* const logits = static_cast<float*>(answers);
  auto* const predictions = static_cast<Prediction*>(to);
  parallel_for(count, std::max<int64_t>(kValuesPerTask / answer_values_, 1), [&](int64_t begin, int64_t end) {
    if (writes_probabilities_) make_logits(logits + begin * answer_values_, (end - begin) * answer_values_);
    for (int64_t i = begin; i < end; ++i)
      predictions[i] = prediction_of(logits + i * answer_values_, answer_values_);
  });
}

void Lane::run(const void* images, int64_t count, void* answers, InputOutput call) {
  DeviceGuard guard(executable_.device());
  const bool on_host = !executable_.input().device.is_cuda();
  if (call.input != ends().input) {
    if (!on_host && !staging_)
      staging_ = std::make_unique<PinnedBuffer>(executable_.device(), input_bytes(batch()));
    void* const place = on_host ? executable_.input().data : staging_->data();
    take(images, count, call.input, place);
    images = place;
  }
  const bool same_output = call.output == ends().output;
  if (!same_output && logits_.empty()) logits_.resize(static_cast<size_t>(batch() * answer_values_));
  void* const written = same_output ? answers : logits_.data();
  enqueue(images, count, written);
  if (!on_host) executable_.stream().synchronise();
  if (!same_output) give(written, count, call.output, answers);
}

void Lane::enqueue(const void* images, int64_t count, void* answers) {
  if (!executable_.input().device.is_cuda()) {
    run_on_host_memory(images, count, answers);
    return;
  }
  copy_in(images, count);
  executable_.run_first_checked();
  NvtxRange range("d2h");
  copy_bytes(answers, Device::cpu(), executable_.output().data, executable_.device(), output_bytes(count),
             executable_.stream());
}

void Lane::load(const uint8_t* pixels) {
  DeviceGuard guard(executable_.device());
  std::vector<float> host((input_bytes(batch()) + sizeof(float) - 1) / sizeof(float));
  take(pixels, batch(), ElementType::kUint8, host.data());
  copy_in(host.data(), batch());
  executable_.stream().synchronise();
}

void Lane::copy_in(const void* images, int64_t count) {
  NvtxRange range("h2d");
  copy_bytes(executable_.input().data, executable_.device(), images, Device::cpu(), input_bytes(count),
             executable_.stream());
}

// On the CPU, and where a GPU reads and writes page-locked memory over the bus.
void Lane::run_on_host_memory(const void* images, int64_t count, void* answers) {
  if (!executable_.device().is_cuda() && count == batch()) {
    ConstTensorView input = executable_.input();
    input.data = static_cast<const float*>(images);
    const ConstTensorView own = executable_.output();
    executable_.run(input, {static_cast<float*>(answers), own.shape, own.device, own.type});
    return;
  }
  float* const input = executable_.input().data;
  if (images != input) std::memcpy(input, images, input_bytes(count));
  executable_.run_first_checked();
  executable_.stream().synchronise();
  std::memcpy(answers, executable_.output().data, output_bytes(count));
}

Feed::Slot::Slot(Lane& its_lane, bool staged)
    : lane(its_lane),
      images(lane.executable().device(), staged ? lane.input_bytes(lane.batch()) : 0),
      both(lane.executable().device(), 2 * lane.output_bytes(lane.batch())),
      done(lane.executable().device()) {}

Feed::Feed(const Graph& graph, const BuildOptions& options, const FeedOptions& feed) : options_(feed) {
  DeviceGuard guard(options.device);
  BuildOptions build = options;
  for (int i = 0; i < feed.lanes; ++i) {
    lanes_.push_back(std::make_unique<Lane>(graph, build));
    build.plan = &lane().executable().plan();  // so that choices made by timing agree
  }
}

void Feed::prepare() {
  if (!slots_.empty()) return;
  DeviceGuard guard(lane().executable().device());
  std::vector<Slot> slots;
  slots.reserve(lanes_.size() * static_cast<size_t>(options_.depth));
  for (int i = 0; i < options_.depth; ++i) {
    for (const auto& each : lanes_) slots.emplace_back(*each, options_.staged);
  }
  slots_ = std::move(slots);
}

int64_t Feed::run(const void* images, int64_t count, void* answers, InputOutput call,
                  const Progress& progress) {
  DeviceGuard guard(lane().executable().device());
  const size_t image_bytes = lane().image_bytes(call.input), answer_bytes = lane().answer_bytes(call.output);
  int64_t done = 0;
  bool go_on = !progress || progress(0);
  deal(
      count, [&] { return go_on; },
      [&](Slot& slot) {
        const Chunk chunk = slot.chunk;
        slot.lane.take(static_cast<const char*>(images) + static_cast<size_t>(chunk.first) * image_bytes,
                       chunk.images, call.input, slot.images.data());
        slot.lane.enqueue(slot.images.data(), chunk.images, slot.answers());
      },
      [&](Chunk chunk, char* landed) {
        lane().give(landed, chunk.images, call.output,
                    static_cast<char*>(answers) + static_cast<size_t>(chunk.first) * answer_bytes);
        done += chunk.images;
        if (progress) go_on = progress(done) && go_on;
      });
  return done;
}

}  // namespace lenslet
