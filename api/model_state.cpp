#include "api/model_state.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "models/fused_lenet5/polled.h"

namespace lenslet {
namespace {

// On the CPU more lanes than kLanesKept are kept while their work, which bounds the memory of each, is below this:
// preparing a pass of a few images takes as long as computing it.
constexpr double kCpuBytesKept = double{1 << 26};
// Small passes fit the CPU's caches; a GPU needs large ones.
constexpr int64_t kDefaultCpuBatch = 1024, kDefaultGpuBatch = 65536;
// Values that one layer writes in a default pass: 128 MiB, 1 GiB. LeNet-5 is below both.
constexpr int64_t kDefaultCpuValues = int64_t{1} << 25, kDefaultGpuValues = int64_t{1} << 28;
// Host memory from this size on goes through a Feed. Below it a copy by the driver takes as long as it takes to wake
// threads.
constexpr size_t kLeastFedBytes = size_t{2} << 20;
// Chunks of a Feed. Of 4, 8, 16 and 32 MiB, 8 fed an H200 fastest from ordinary memory; more only pays from page-locked
// memory. A smaller call has smaller chunks, because a pass computes all its images, however few a chunk has.
constexpr size_t kChunkBytes = size_t{8} << 20, kSmallChunkBytes = size_t{2} << 20;
constexpr size_t kLargeCallBytes = size_t{64} << 20;

int64_t pass_limit(const ModelOptions& options, Device device, const Graph& graph) {
  if (options.max_batch > 0) return options.max_batch;
  int64_t largest = 1;
  for (const Shape& shape : graph.infer_shapes(1)) largest = std::max(largest, shape.num_elements());
  const int64_t fitting = (device.is_cuda() ? kDefaultGpuValues : kDefaultCpuValues) / largest;
  return std::clamp<int64_t>(fitting, 1, device.is_cuda() ? kDefaultGpuBatch : kDefaultCpuBatch);
}

FeedOptions feed_options(const BuildOptions& pass, const Graph& graph) {
  const ElementType input = pass.plan ? pass.plan->input : pass.input;
  const bool whole = (pass.plan ? pass.plan->execution : pass.execution) == Plan::kFused;
  return FeedOptions::for_host_memory(pass.device, whole,
                                      static_cast<size_t>(pass.batch) * bytes_of_image(graph, input));
}

unsigned bit_of(InputOutput call) {
  return 1u << (2 * static_cast<int>(call.input) + static_cast<int>(call.output == ElementType::kClass));
}

double bytes_of(Lane& lane) {
  double bytes = 0;
  for (const Executable::Step& step : lane.executable().steps()) bytes += step.work.bytes;
  return bytes;
}

}  // namespace

Model::State::State(std::shared_ptr<const ModelSetup> setup, const ModelOptions& options)
    : setup_(std::move(setup)),
      pass_limit_(pass_limit(options, setup_->device(), setup_->graph())),
      device_lanes_(std::in_place, *setup_, pass_limit_, options.max_batch > 0) {
  lane(1, kBytesToPredictions);  // reports an unsupported request now instead of at the first call
}

Model::State::State(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass)
    : setup_(std::move(setup)),
      pass_limit_(pass.batch),
      pass_(pass),
      feed_(std::make_unique<Feed>(setup_->graph(), pass, feed_options(pass, setup_->graph()))) {}

int64_t Model::State::answer(const void* images, int64_t count, Answers answers, InputOutput call,
                             const Place& place, const Progress& progress) {
  if (count < 0) throw UsageError(concat("the number of images must not be negative, found ", count));
  if (count == 0) return 0;
  if (!images || !answers.data)
    throw UsageError(concat("the ", images ? "answers' place" : "images", " must not be a null pointer"));
  if (place.is_on_device()) {
    if (!device_lanes_) throw UsageError("a single-pass model takes host memory");
    device_lanes_->run(images, count, answers, call, place.stream());
    return count;
  }
  if (feed_) {
    demand_supports(feed_->lane().executable().plan(), call);
    return feed_->run(images, count, answers, call, progress);
  }
  if (Feed* const feed = feed_for(count, call)) return feed->run(images, count, answers, call, progress);
  int64_t done = 0;
  while (done < count && (!progress || progress(done))) {
    const int64_t batch = std::min(pass_limit_, count - done);
    Lane& taken = lane(batch, call);
    const size_t before = static_cast<size_t>(done) * taken.image_bytes(call.input);
    taken.run(static_cast<const char*>(images) + before, batch,
              answers.from(done, taken.answer_bytes(call.output)), call);
    done += batch;
  }
  if (progress && done == count) progress(done);
  return done;
}

BuildOptions Model::State::build_options(int64_t batch) const {
  if (!pass_) return setup_->build_options(batch, setup_->pass_for(batch, kBytesToPredictions));
  BuildOptions options = *pass_;
  options.batch = batch;
  return options;
}

BuildOptions Model::State::profile_options(int64_t batch) const {
  if (pass_) return build_options(batch);
  const BuildOptions plain = setup_->profile_options(batch, {});
  return plain.execution == Plan::kLayered ? plain : build_options(batch);
}

Lane& Model::State::lane(int64_t batch, InputOutput call) {
  if (feed_) return feed_->lane();
  const auto find = [&](auto&& fits) {
    return std::find_if(lanes_.begin(), lanes_.end(),
                        [&](const KeptLane& kept) { return kept.lane->batch() == batch && fits(kept); });
  };
  auto found = find([&](const KeptLane& kept) { return (kept.calls & bit_of(call)) != 0; });
  if (found == lanes_.end()) {
    const InputOutput pass = setup_->pass_for(batch, call);
    found = find([&](const KeptLane& kept) {
      return kept.lane->ends().input == pass.input && kept.lane->ends().output == pass.output;
    });
    if (found == lanes_.end()) {
      if (setup_->device().is_cuda() && lanes_.size() == kLanesKept) lanes_.pop_back();
      std::unique_ptr<Lane> built = build(batch, pass);
      drop_lanes_beside(*built);
      found = lanes_.insert(lanes_.begin(), {std::move(built), 0});
    }
    found->calls |= bit_of(call);
  }
  std::rotate(lanes_.begin(), found, found + 1);
  return *lanes_.front().lane;
}

std::unique_ptr<Lane> Model::State::build(int64_t batch, InputOutput pass) {
  BuildOptions options = setup_->build_options(batch, pass);
  // The bus carries a few images faster than two copies can be enqueued (docs/kernels/fused_lenet.md).
  options.mapped_io =
      options.device.is_cuda() && options.execution == Plan::kFused && batch <= PolledLenet5::kMaxBatch;
  try {
    return std::make_unique<Lane>(setup_->graph(), options);
  } catch (const MemoryError&) {
    if (lanes_.empty()) throw;
  }
  lanes_.clear();  // frees the cached passes and tries again
  return std::make_unique<Lane>(setup_->graph(), options);
}

// Those used least recently, until the rest and `built` are few or small.
void Model::State::drop_lanes_beside(Lane& built) {
  double bytes = bytes_of(built);
  for (const KeptLane& kept : lanes_) bytes += bytes_of(*kept.lane);
  for (; lanes_.size() >= kLanesKept && bytes > kCpuBytesKept; lanes_.pop_back())
    bytes -= bytes_of(*lanes_.back().lane);
}

Feed* Model::State::feed_for(int64_t count, InputOutput call) {
  if (!setup_->device().is_cuda()) return nullptr;
  const size_t image = bytes_of_image(setup_->graph(), call.input);
  const size_t bytes = static_cast<size_t>(count) * image;
  if (bytes < kLeastFedBytes) return nullptr;
  const size_t chunk = bytes < kLargeCallBytes ? kSmallChunkBytes : kChunkBytes;
  const int64_t batch = std::min(pass_limit_, static_cast<int64_t>(chunk / image));
  for (KeptFeed& kept : feeds_) {
    if (kept.call.input == call.input && kept.call.output == call.output && kept.batch == batch)
      return kept.feed.get();
  }
  std::unique_ptr<Feed> feed;
  if (batch > 0) {
    const BuildOptions options = setup_->build_options(batch, setup_->pass_for(batch, call));
    if (options.execution == Plan::kFused) feed = build_feed(options);
  }
  return feeds_.emplace_back(KeptFeed{call, batch, std::move(feed)}).feed.get();
}

std::unique_ptr<Feed> Model::State::build_feed(const BuildOptions& options) {
  const auto build = [&] {
    auto feed = std::make_unique<Feed>(setup_->graph(), options, feed_options(options, setup_->graph()));
    feed->prepare();
    return feed;
  };
  try {
    return build();
  } catch (const MemoryError&) {
    if (lanes_.empty()) throw;
  }
  lanes_.clear();  // frees the cached passes and tries again
  return build();
}

}  // namespace lenslet
