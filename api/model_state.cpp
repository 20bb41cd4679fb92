#include "api/model_state.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/device/device_health.h"
#include "framework/device/runtime.h"
#include "framework/device/stream.h"
#include "models/fused_lenet5/polled.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

// On the CPU more lanes than kLanesKept are kept while their work, which bounds the memory of each, is below this:
// preparing a small pass again costs a large part of its run time. Chosen by hand.
constexpr double kCpuBytesKept = double{1 << 26};
// Small passes fit the CPU's caches; a GPU needs large ones.
constexpr int64_t kDefaultCpuBatch = 1024, kDefaultGpuBatch = 65536;
// Values that one layer writes in a default pass: 128 MiB, 1 GiB. LeNet-5 is below both.
constexpr int64_t kDefaultCpuValues = int64_t{1} << 25, kDefaultGpuValues = int64_t{1} << 28;
// Host memory from this size on goes through a Feed. Below it, waking the threads of a Feed would cost more than their
// copies save. Chosen by hand.
constexpr int64_t kMinFedBytes = int64_t{2} << 20;
// Chunks of a Feed, sizes chosen by hand. Memory that a GPU reads in place is taken in larger ones: fewer copies leave
// fewer gaps on the bus. A smaller call has smaller chunks: a pass computes all its images, however few a chunk has.
constexpr int64_t kChunkBytes = int64_t{4} << 20, kChunkBytesInPlace = int64_t{16} << 20;
constexpr int64_t kSmallChunkBytes = int64_t{2} << 20;
constexpr int64_t kLargeCallBytes = int64_t{64} << 20;

int64_t pass_limit(const ModelOptions& options, Device device, const Graph& graph) {
  if (options.max_batch > 0) return options.max_batch;
  int64_t largest = 1;
  for (const Shape& shape : graph.infer_shapes(1)) largest = std::max(largest, shape.num_elements());
  const int64_t fitting = (device.is_cuda() ? kDefaultGpuValues : kDefaultCpuValues) / largest;
  return std::clamp<int64_t>(fitting, 1, device.is_cuda() ? kDefaultGpuBatch : kDefaultCpuBatch);
}

unsigned bit_of(InputOutput call) {
  const int input = call.input == ElementType::kFp32 ? 0 : call.input == ElementType::kUint8 ? 1 : 2;
  return 1u << (2 * input + static_cast<int>(call.output == kPrediction));
}

double bytes_of(Lane& lane) {
  double bytes = 0;
  for (const Executable::Step& step : lane.executable().steps()) bytes += step.work.bytes;
  return bytes;
}

std::unique_ptr<DeviceSet> set_of(const std::vector<Device>& devices) {
  return devices.size() > 1 ? std::make_unique<DeviceSet>(devices) : nullptr;
}

std::shared_ptr<const ModelSetup> setup_on(const ModelSetup& setup, std::vector<Device> devices) {
  return std::make_shared<const ModelSetup>(setup, std::move(devices));
}

// Without the devices of several that this process has lost, unless it has lost all.
std::shared_ptr<const ModelSetup> without_lost(std::shared_ptr<const ModelSetup> setup) {
  std::vector<Device> left;
  for (const Device device : setup->devices()) {
    if (!device_lost(device)) left.push_back(device);
  }
  if (left.empty() || left.size() == setup->devices().size()) return setup;
  return setup_on(*setup, std::move(left));
}

}  // namespace

Model::State::State(std::shared_ptr<const ModelSetup> setup, const ModelOptions& options, int threads)
    : setup_(without_lost(std::move(setup))),
      pass_limit_(pass_limit(options, setup_->device(), setup_->graph())),
      set_(set_of(setup_->devices())),
      threads_(set_ ? set_->threads_of_each() : threads),
      device_lanes_(std::in_place, *setup_, pass_limit_, options.max_batch > 0) {
  lane(1, kBytesToPredictions);  // reports an unsupported request now instead of at the first call
  for (size_t i = 1; i < setup_->devices().size(); ++i)
    others_.push_back(std::make_unique<State>(setup_on(*setup_, {setup_->devices()[i]}), options, threads_));
}

Model::State::State(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass, int threads)
    : setup_(without_lost(std::move(setup))),
      pass_limit_(pass.batch),
      set_(set_of(setup_->devices())),
      threads_(set_ ? set_->threads_of_each() : threads),
      pass_(pass) {
  if (device_lost(pass.device)) pass_->device = setup_->device();  // one that is left
  if (!set_) {
    feed_ = std::make_unique<Feed>(setup_->graph(), *pass_, feed_options(*pass_, false));
    return;
  }
  BuildOptions same = *pass_;
  for (size_t i = 0; i < set_->size(); ++i) {
    same.device = setup_->devices()[i];
    set_->near(i, [&] {
      if (i == 0) {
        feed_ = std::make_unique<Feed>(setup_->graph(), same, feed_options(same, false));
        same.plan = &feed_->lane().executable().plan();
      } else {
        others_.push_back(std::make_unique<State>(setup_on(*setup_, {same.device}), same, threads_));
      }
    });
  }
}

FeedOptions Model::State::feed_options(const BuildOptions& pass, bool in_place) const {
  const ElementType input = pass.plan ? pass.plan->input : pass.input;
  const bool whole = (pass.plan ? pass.plan->execution : pass.execution) == Plan::kFused;
  return FeedOptions::for_host_memory(pass.device, whole,
                                      static_cast<size_t>(pass.batch * image_bytes(input)),
                                      threads_ > 0 ? threads_ : num_threads(), in_place);
}

void Model::State::on_each_device(const std::function<void(State&)>& body) {
  if (!set_) return body(*this);
  const std::vector<bool> done = set_->on_each([&](size_t i) { body(member(i)); });
  if (std::count(done.begin(), done.end(), true) == 0) set_->throw_nothing_left();
}

void Model::State::prepare() {
  on_each_device([](State& state) {
    if (state.feed_) state.feed_->prepare();
  });
}

void Model::State::run_checked() {
  on_each_device([](State& state) { state.lane(1, kBytesToPredictions).executable().run_checked(); });
}

std::optional<Device> Model::State::usable_device() const {
  const std::vector<Device>& devices = setup_->devices();
  const auto usable =
      std::find_if(devices.begin(), devices.end(), [](Device device) { return !device_lost(device); });
  return usable == devices.end() ? std::nullopt : std::optional<Device>(*usable);
}

Model::State& Model::State::member_with(const void* data, const Place& place) {
  const std::vector<Device>& devices = setup_->devices();
  const std::optional<Device> usable = usable_device();
  if (!set_ || !setup_->device().is_cuda() || !usable) return *this;
  Device home = place.known_device();
  if (!home.is_cuda()) {
    const DeviceGuard guard(*usable);  // the current one may be lost
    const runtime::MemoryInfo found = runtime::memory_at(data);
    if (found.kind == runtime::MemoryKind::kDevice) home = Device::cuda(found.ordinal);
  }
  for (size_t i = 0; i < set_->size(); ++i) {
    if (devices[i] == home) return member(i);
  }
  return *this;
}

int64_t Model::State::answer(const void* images, int64_t count, Answers answers, InputOutput call,
                             const Place& place, const Progress& progress) {
  check_image_count(count, bytes_of_image(setup_->graph(), call.input),
                    bytes_of_answer(setup_->graph(), call.output));
  if (count == 0) return 0;
  if (!images || !answers.data)
    throw UsageError(concat("the ", images ? "answers' place" : "images", " must not be a null pointer"));
  if (place.is_on_device()) {
    if (!device_lanes_) {
      throw UsageError(
          "a model with a single pass reads host memory only; for calls in a GPU's memory "
          "make the model from ModelOptions");
    }
    member_with(images, place).device_lanes_->run(images, count, answers, call, place);
    return count;
  }
  if (feed_) check_plan_supports(feed_->lane().executable().plan(), call);
  return set_ ? answer_by_set(images, count, answers, call, progress)
              : answer_alone(images, count, answers, call, progress);
}

int64_t Model::State::answer_alone(const void* images, int64_t count, Answers answers, InputOutput call,
                                   const Progress& progress) {
  if (feed_) return feed_->run(images, count, answers, call, progress);
  if (Feed* const feed = feed_for(images, count, call))
    return feed->run(images, count, answers, call, progress);
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

int64_t Model::State::answer_by_set(const void* images, int64_t count, Answers answers, InputOutput call,
                                    const Progress& progress) {
  if (!feed_ && count * image_bytes(call.input) < kMinFedBytes) {
    int64_t reported = -1;  // a second device begins again
    const Progress further = [&](int64_t done) {
      if (done <= reported) return true;
      reported = done;
      return progress(done);
    };
    return set_->on_one([&](size_t i) {
      return member(i).answer_alone(images, count, answers, call, progress ? further : progress);
    });
  }
  // Page-locked memory is that for every device.
  const FedCall fed = feed_ ? FedCall{} : fed_call(images, count, call);
  std::vector<Feed*> feeds(set_->size(), nullptr);
  bool complete = true;
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (!set_->has(i)) continue;
    feeds[i] = member(i).ready_feed(fed);
    complete = complete && feeds[i];
  }
  if (!complete) {
    const Plan* plan = nullptr;
    const std::vector<bool> built = set_->on_each([&](size_t i) {
      feeds[i] = &member(i).prepared_feed(fed, plan);
      if (!plan) plan = &feeds[i]->lane().executable().plan();
    });
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (!built[i]) feeds[i] = nullptr;
    }
  }
  return set_->run(feeds, images, count, answers, call, progress);
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

// Finds a lane by the types of the call (`calls`: bit_of() of every call that a lane was found to support), else by
// those of its pass; else builds one.
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
  BuildOptions options = setup_->call_options(batch, pass);
  // The bus carries a few images faster than two copies can be enqueued (docs/kernels/fused_lenet_calls.md).
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

// Drops the lanes used least recently until the others and `built` are few or small.
void Model::State::drop_lanes_beside(Lane& built) {
  double bytes = bytes_of(built);
  for (const KeptLane& kept : lanes_) bytes += bytes_of(*kept.lane);
  for (; lanes_.size() >= kLanesKept && bytes > kCpuBytesKept; lanes_.pop_back())
    bytes -= bytes_of(*lanes_.back().lane);
}

Model::State::FedCall Model::State::fed_call(const void* images, int64_t count, InputOutput types) const {
  const std::optional<Device> device = usable_device();
  const bool page_locked = device && is_page_locked(*device, images);
  const int64_t image = image_bytes(types.input);
  int64_t chunk = kSmallChunkBytes;
  if (count * image >= kLargeCallBytes) chunk = page_locked ? kChunkBytesInPlace : kChunkBytes;
  return {types, std::min(pass_limit_, chunk / image), page_locked};
}

Model::State::KeptFeed* Model::State::kept_feed(const FedCall& call) {
  for (KeptFeed& kept : feeds_) {
    const FedCall& its = kept.call;
    if (its.types.input == call.types.input && its.types.output == call.types.output &&
        its.batch == call.batch && its.page_locked == call.page_locked)
      return &kept;
  }
  return nullptr;
}

Feed* Model::State::feed_for(const void* images, int64_t count, InputOutput types) {
  if (!setup_->device().is_cuda()) return nullptr;
  if (count * image_bytes(types.input) < kMinFedBytes) return nullptr;
  const FedCall call = fed_call(images, count, types);
  if (KeptFeed* const kept = kept_feed(call)) return kept->feed.get();
  std::unique_ptr<Feed> feed;
  if (call.batch > 0) {
    const BuildOptions options = setup_->call_options(call.batch, setup_->pass_for(call.batch, types));
    if (options.execution == Plan::kFused) feed = build_feed(options, call);
  }
  return feeds_.emplace_back(KeptFeed{call, std::move(feed)}).feed.get();
}

Feed* Model::State::ready_feed(const FedCall& call) {
  if (feed_) return feed_->is_prepared() ? feed_.get() : nullptr;
  const KeptFeed* const kept = kept_feed(call);
  return kept ? kept->feed.get() : nullptr;
}

Feed& Model::State::prepared_feed(const FedCall& call, const Plan* plan) {
  if (feed_) {
    feed_->prepare();
    return *feed_;
  }
  if (Feed* const ready = ready_feed(call)) return *ready;
  const bool whole = call.batch > 0 &&
                     setup_->execution(call.batch, setup_->pass_for(call.batch, call.types)) == Plan::kFused;
  // Layers need larger passes than the whole network at once.
  const int64_t largest = kLargeCallBytes / image_bytes(call.types.input);
  const int64_t pass = whole ? call.batch : std::clamp<int64_t>(largest, 1, pass_limit_);
  BuildOptions options = setup_->call_options(pass, setup_->pass_for(pass, call.types));
  options.plan = plan ? plan : options.plan;
  return *feeds_.emplace_back(KeptFeed{call, build_feed(options, call)}).feed;
}

std::unique_ptr<Feed> Model::State::build_feed(const BuildOptions& options, const FedCall& call) {
  const ElementType input = options.plan ? options.plan->input : options.input;
  const bool in_place = call.page_locked && input == call.types.input;
  const auto build = [&] {
    auto feed = std::make_unique<Feed>(setup_->graph(), options, feed_options(options, in_place));
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
