#include "api/feed.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/device/runtime.h"
#include "framework/measuring/nvtx.h"
#include "framework/tensor/pixels.h"
#include "models/classifier.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

// Page-locked memory that the chunks of all lanes may take, which the system cannot swap out. kMaxLanes lanes of two
// chunks of 4 MiB (kChunkBytes) take 96 MiB; chunks above 10 MiB, of large images, get fewer lanes. Chosen by hand.
constexpr size_t kMaxStaging = size_t{256} << 20;
// Images of a chunk at least, if it is smaller than a pass so that all lanes take part. A pass computes all its images,
// however few a chunk has: smaller chunks compute more in vain, larger ones leave lanes without work. Chosen by hand.
constexpr int64_t kMinChunk = 1024;

}  // namespace

size_t bytes_of_image(const Graph& graph, ElementType type) {
  return bytes_of(type, graph.input_shape().num_elements());
}

size_t bytes_of_answer(const Graph& graph, ElementType type) {
  return type == kPrediction ? sizeof(Prediction)
                             : static_cast<size_t>(graph.output_shape().num_elements()) * sizeof(float);
}

void check_image_count(int64_t count, size_t image_bytes, size_t answer_bytes) {
  if (count < 0) throw UsageError(concat("the number of images must not be negative, found ", count));
  const size_t larger = std::max({image_bytes, answer_bytes, size_t{1}});
  const int64_t max_count = PTRDIFF_MAX / static_cast<int64_t>(larger);
  if (count > max_count)
    throw UsageError(concat("the number of images must be at most ", max_count,
                            ", as images or answers take ", larger, " bytes each, found ", count));
}

bool is_page_locked(Device device, const void* memory) {
  if (!device.is_cuda()) return false;
  const DeviceGuard guard(device);  // another device, current in this thread, may be lost
  return runtime::memory_at(memory).kind == runtime::MemoryKind::kPinned;
}

Lane::Lane(const Graph& graph, const BuildOptions& options)
    : Lane(std::make_unique<Executable>(graph, options), nullptr) {}

Lane::Lane(std::unique_ptr<Executable> own, Executable* borrowed)
    : own_(std::move(own)),
      executable_(own_ ? *own_ : *borrowed),
      image_values_(executable_.graph().input_shape().num_elements()),
      answer_values_(executable_.graph().output_shape().num_elements()),
      writes_probabilities_(writes_probabilities(executable_.graph())) {}

void Lane::convert_in(const void* images, int64_t count, ElementType given, void* to) const {
  convert_pixels(given, images, count * image_values_, executable_.graph().normalisation(), ends().input, to);
}

void Lane::convert_out(void* answers, int64_t count, ElementType wanted, Answers to) const {
  const auto store = [to](int64_t i, const Prediction& prediction) {
    if (to.probabilities) {
      static_cast<int32_t*>(to.data)[i] = prediction.label;
      to.probabilities[i] = prediction.probability;
    } else {
      static_cast<Prediction*>(to.data)[i] = prediction;
    }
  };
  if (wanted == ends().output) {
    if (!to.probabilities) {
      std::memcpy(to.data, answers, output_bytes(count));
    } else {
      for (int64_t i = 0; i < count; ++i) store(i, static_cast<const Prediction*>(answers)[i]);
    }
    return;
  }
  constexpr int64_t kValuesPerTask = 4096;  // their exponentials take longer than waking a thread
  auto* const logits = static_cast<float*>(answers);
  parallel_for(count, std::max<int64_t>(kValuesPerTask / answer_values_, 1), [&](int64_t begin, int64_t end) {
    if (writes_probabilities_) make_logits(logits + begin * answer_values_, (end - begin) * answer_values_);
    for (int64_t i = begin; i < end; ++i)
      store(i, prediction_of(logits + i * answer_values_, answer_values_));
  });
}

void Lane::run_on_device(const void* images, Answers answers, Stream& stream) {
  DeviceGuard guard(executable_.device());
  const bool ordered_here = executable_.writes_own_memory() && stream.capture_id() == 0;
  if (ordered_here && used_ && last_stream_ != stream.native_handle()) stream.wait_for(*used_);
  ConstTensorView input = executable_.input();
  input.data = static_cast<const float*>(images);
  ConstTensorView own = executable_.output();
  executable_.run(input, {static_cast<float*>(answers.data), own.shape, own.device, own.type}, stream,
                  answers.probabilities);
  if (!ordered_here) return;
  if (!used_) used_ = std::make_unique<Event>(executable_.device());
  used_->record(stream);
  last_stream_ = stream.native_handle();
}

void Lane::run(const void* images, int64_t count, Answers answers, InputOutput call) {
  DeviceGuard guard(executable_.device());
  const bool on_host = !executable_.input().device.is_cuda();
  if (call.input != ends().input) {
    if (!on_host && !staging_)
      staging_ = std::make_unique<PinnedBuffer>(executable_.device(), input_bytes(batch()));
    void* const place = on_host ? executable_.input().data : staging_->data();
    convert_in(images, count, call.input, place);
    images = place;
  }
  const bool same_output = call.output == ends().output && !answers.probabilities;
  if (!same_output && written_.empty()) written_.resize(output_bytes(batch()) / sizeof(float));
  void* const written = same_output ? answers.data : written_.data();
  enqueue(images, count, written);
  if (!on_host) executable_.stream().synchronise();
  if (!same_output) convert_out(written, count, call.output, answers);
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
  std::vector<float> host(align_up(input_bytes(batch()), sizeof(float)) / sizeof(float));
  convert_in(pixels, batch(), ElementType::kUint8, host.data());
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
      answer_halves(lane.executable().device(), 2 * lane.output_bytes(lane.batch())),
      done(lane.executable().device()) {}

FeedOptions FeedOptions::for_host_memory(Device device, bool whole_network, size_t chunk_bytes, int threads,
                                         bool in_place) {
  FeedOptions options;
  options.staged = !in_place;
  options.may_use_fewer_lanes = true;
  if (!device.is_cuda()) return options;
  options.depth = 2;  // the host prepares one chunk while another computes
  const size_t fitting = kMaxStaging / (2 * std::max<size_t>(chunk_bytes, 1));
  // Layers take longer than one thread's copies; the whole network at once does not.
  const int max_lanes = in_place ? Feed::kLanesInPlace : std::min(threads, Feed::kMaxLanes);
  if (whole_network)
    options.lanes = std::max(1, static_cast<int>(std::min(fitting, static_cast<size_t>(max_lanes))));
  return options;
}

Feed::Feed(const Graph& graph, const BuildOptions& options, const FeedOptions& feed) : options_(feed) {
  DeviceGuard guard(options.device);
  BuildOptions build = options;
  for (int i = 0; i < feed.lanes; ++i) {
    try {
      lanes_.push_back(std::make_unique<Lane>(graph, build));
    } catch (const MemoryError&) {
      if (!feed.may_use_fewer_lanes || lanes_.empty()) throw;
      break;
    }
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

int64_t Feed::chunk_size(int64_t count, int64_t lanes, int64_t max_chunk) noexcept {
  if (lanes == 1) return max_chunk;
  const int64_t chunks = lanes * std::max<int64_t>(ceil_div(count, lanes * max_chunk), 1);
  return std::clamp(ceil_div(count, chunks), std::min(kMinChunk, max_chunk), max_chunk);
}

bool Feed::reads_in_place(const void* images, ElementType type) {
  return type == lane().ends().input && is_page_locked(lane().executable().device(), images);
}

void Feed::serve(int64_t first, int64_t end, const SharedCall& call, const std::atomic<bool>& off,
                 const std::function<void(Chunk)>& landed) {
  const DeviceGuard here(lane().executable().device());
  const size_t image_bytes = lane().image_bytes(call.types.input);
  const size_t answer_bytes = lane().answer_bytes(call.types.output);
  const bool in_place = reads_in_place(call.images, call.types.input);
  if (!in_place && !options_.staged) throw std::logic_error("this feed reads page-locked memory only");
  const auto next_chunk = [&](Chunk& chunk) { return !off && call.chunks.next(chunk); };
  const auto enqueue = [&](Slot& slot) {
    const Chunk next = slot.chunk;
    const void* from = static_cast<const char*>(call.images) + static_cast<size_t>(next.first) * image_bytes;
    if (!in_place) {
      slot.lane.convert_in(from, next.images, call.types.input, slot.images.data());
      from = slot.images.data();
    }
    slot.lane.enqueue(from, next.images, slot.answers());
  };
  const auto land = [&](Chunk done, char* answers) {
    lane().convert_out(answers, done.images, call.types.output, call.answers.from(done.first, answer_bytes));
    call.chunks.land(done);
    landed(done);
  };
  const auto begin_lane = static_cast<size_t>(first), end_lane = static_cast<size_t>(end);
  try {
    do {
      deal_to(begin_lane, end_lane, next_chunk, enqueue, land);
    } while (!off && call.chunks.wait());
  } catch (...) {
    const size_t turns = (end_lane - begin_lane) * static_cast<size_t>(options_.depth);
    for (size_t i = 0; i < turns; ++i) {
      const Chunk left = slot_at(begin_lane, end_lane, i).chunk;
      if (left.images > 0) call.chunks.give_back(left);
    }
    throw;
  }
}

int64_t Feed::run(const void* images, int64_t count, Answers answers, InputOutput types,
                  const Progress& progress) {
  const DeviceGuard guard(lane().executable().device());
  prepare();
  const int64_t lanes = threads();
  const bool in_place = reads_in_place(images, types.input);
  const int64_t size = chunk_size(count, lanes, batch());
  const int64_t used = std::min(lanes, ceil_div(count, size));  // no thread wakes without a chunk to take
  chunks_.begin(count, size, 1);
  if (progress && !progress(0)) chunks_.stop();
  int64_t reported = 0;
  const auto report = [&] {
    reported = chunks_.in_order();
    if (progress && !progress(reported)) chunks_.stop();
  };
  const SharedCall call{images, answers, types, chunks_};
  const std::atomic<bool> off{false};
  const auto serve_lanes = [&](int64_t first, int64_t end) {
    const bool reports = first == 0;  // the caller's thread
    try {
      serve(first, end, call, off, [&](Chunk) {
        if (reports) report();
      });
    } catch (...) {
      chunks_.stop();
      throw;
    }
  };
  try {
    if (in_place || lanes == 1) {
      serve_lanes(0, lanes);
    } else {
      parallel_for(used, 1, serve_lanes);
    }
  } catch (...) {
    if (progress && chunks_.in_order() > reported) report();
    throw;
  }
  const int64_t done = chunks_.in_order();
  if (done > reported) report();
  return done;
}

}  // namespace lenslet
