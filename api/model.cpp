#include "api/model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "api/feed.h"
#include "api/model_setup.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/runtime.h"
#include "framework/execution/profiler.h"
#include "framework/execution/tuner.h"
#include "models/classifier.h"
#include "models/fused_lenet5/polled.h"

namespace lenslet {
namespace {

// Enough for the batches of a typical caller and their remainders; a pass on a GPU may hold gigabytes.
constexpr size_t kPassesKept = 4;
// On the CPU more are kept while their work, which bounds the memory of each, is below this: preparing a pass of a few
// images takes as long as computing it.
constexpr double kCpuBytesKept = double{1 << 26};
// Small passes fit the CPU's caches; a GPU needs large ones.
constexpr int64_t kDefaultCpuBatch = 1024, kDefaultGpuBatch = 65536;
// Values that one layer writes in a default pass: 128 MiB, 1 GiB. LeNet-5 is below both.
constexpr int64_t kDefaultCpuValues = int64_t{1} << 25, kDefaultGpuValues = int64_t{1} << 28;
constexpr InputOutput kBytesToPredictions{ElementType::kUint8, ElementType::kClass};
constexpr const char* kRunSupports = "; run() supports any network";
constexpr InputOutput kValues{ElementType::kFp32, ElementType::kFp32};
constexpr InputOutput kValuesToPredictions{ElementType::kFp32, ElementType::kClass};
constexpr InputOutput kBytesToValues{ElementType::kUint8, ElementType::kFp32};
// Host memory from this size on goes through a Feed. Below it a copy by the driver takes as long as it takes to wake
// threads.
constexpr size_t kLeastFedBytes = size_t{2} << 20;
// Chunks of a Feed. Of 4, 8, 16 and 32 MiB, 8 fed an H200 fastest from ordinary memory; more only pays from page-locked
// memory. A smaller call has smaller chunks, because a pass computes all its images, however few a chunk has.
constexpr size_t kChunkBytes = size_t{8} << 20, kSmallChunkBytes = size_t{2} << 20;
constexpr size_t kLargeCallBytes = size_t{64} << 20;

Choices choices_of(const ModelOptions& options, const std::string& weights) {
  Choices choices;
  choices.device = options.device;
  choices.plan = options.plan;
  choices.backend = options.backend;
  const MathMode math = parse_math_mode(options.math);
  if (math != MathMode::kFp32) choices.math = math;  // only another mode overrides a plan file's
  choices.weights = weights;
  choices.workspace_limit = options.workspace_limit;
  choices.option_prefix.clear();
  if (options.max_batch < 0 || options.max_batch > kMaxModelBatch) {
    throw UsageError(
        concat("max_batch must be 0 (the default) to ", kMaxModelBatch, ", found ", options.max_batch));
  }
  return choices;
}

int64_t pass_limit(const ModelOptions& options, Device device, const Graph& graph) {
  if (options.max_batch > 0) return options.max_batch;
  int64_t largest = 1;
  for (const Shape& shape : graph.infer_shapes(1)) largest = std::max(largest, shape.num_elements());
  const int64_t fitting = (device.is_cuda() ? kDefaultGpuValues : kDefaultCpuValues) / largest;
  return std::clamp<int64_t>(fitting, 1, device.is_cuda() ? kDefaultGpuBatch : kDefaultCpuBatch);
}

void check_batch(int64_t batch) {
  if (batch < 1 || batch > kMaxModelBatch)
    throw UsageError(concat("the batch must be 1 to ", kMaxModelBatch, ", found ", batch));
}

Answers both(PredictionArrays arrays, int64_t count) {
  if (count > 0 && !arrays.probabilities)
    throw UsageError("the probabilities' place must not be a null pointer");
  return {arrays.labels, arrays.probabilities};
}

// The host turns probabilities into logits.
void demand_logits(const Network& network) {
  if (!writes_probabilities(network.graph)) return;
  throw UnavailableError(concat(printable_excerpt(network.origin),
                                ": the network writes probabilities, and logits of them are computed in host "
                                "memory only; call run() for the probabilities"));
}

// Times do not depend on the pixels.
std::vector<uint8_t> random_pixels(int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  std::mt19937 random(1);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

}  // namespace

class Model::State {
 public:
  State(std::shared_ptr<const ModelSetup> setup, const ModelOptions& options)
      : setup_(std::move(setup)),
        pass_limit_(pass_limit(options, setup_->device(), setup_->graph())),
        asked_batch_(options.max_batch > 0) {
    lane(1, kBytesToPredictions);  // reports an unsupported request now instead of at the first call
  }
  State(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass)
      : setup_(std::move(setup)),
        pass_limit_(pass.batch),
        pass_(pass),
        feed_(std::make_unique<Feed>(setup_->graph(), pass, feed_options(pass, setup_->graph()))) {}

  const ModelSetup& setup() const noexcept { return *setup_; }
  int64_t pass_size() const noexcept { return pass_limit_; }

  int64_t answer(const void* images, int64_t count, Answers answers, InputOutput call,
                 const Place& place = {}, const Progress& progress = {}) {
    if (count < 0) throw UsageError(concat("the number of images must not be negative, found ", count));
    if (count == 0) return 0;
    if (!images || !answers.data)
      throw UsageError(concat("the ", images ? "answers' place" : "images", " must not be a null pointer"));
    if (place.is_on_device()) return answer_on_device(images, count, answers, call, place.stream());
    if (feed_) return feed_->run(images, count, answers, supported(call), progress);
    if (Feed* const feed = feed_for(count, call)) return feed->run(images, count, answers, call, progress);
    int64_t done = 0;
    while (done < count && (!progress || progress(done))) {
      const int64_t batch = std::min(pass_limit_, count - done);
      Lane& taken = lane(batch, call);
      taken.run(at(images, done, taken.image_bytes(call.input)), batch,
                answers.from(done, taken.answer_bytes(call.output)), call);
      done += batch;
    }
    if (progress && done == count) progress(done);
    return done;
  }

  void prepare() {
    if (feed_) feed_->prepare();
  }

  /// Element types of the pass for `call`: those of the call if the plan supports them, else the nearest that can
  /// serve.
  InputOutput pass_for(int64_t batch, InputOutput call) const {
    if (const Plan* saved = setup_->saved_plan()) return demand_supports(*saved, call);
    const InputOutput plain;
    const InputOutput wishes[] = {call, {plain.input, call.output}, {call.input, plain.output}};
    for (const InputOutput& wish : wishes) {
      if (setup_->execution(batch, wish) != Plan::kFused) continue;
      if (setup_->whole_network_supports(batch, wish)) return wish;
    }
    return plain;
  }

  /// Builds a pass from bytes to predictions with input and output in device memory.
  BuildOptions build_options(int64_t batch) const {
    if (!pass_) return setup_->build_options(batch, pass_for(batch, kBytesToPredictions));
    BuildOptions options = *pass_;
    options.batch = batch;
    return options;
  }

  /// What a profile times: layers if the caller left the plan to the library, else the pass of build_options().
  BuildOptions profile_options(int64_t batch) const {
    if (pass_) return build_options(batch);
    const BuildOptions plain = setup_->profile_options(batch, {});
    return plain.execution == Plan::kLayered ? plain : build_options(batch);
  }

  /// Builds a lane on first use and drops the least recently used one.
  Lane& lane(int64_t batch, InputOutput call) {
    if (feed_) return feed_->lane();
    const auto find = [&](auto&& fits) {
      return std::find_if(lanes_.begin(), lanes_.end(),
                          [&](const KeptLane& kept) { return kept.lane->batch() == batch && fits(kept); });
    };
    auto found = find([&](const KeptLane& kept) { return (kept.calls & bit_of(call)) != 0; });
    if (found == lanes_.end()) {
      const InputOutput pass = pass_for(batch, call);
      found = find([&](const KeptLane& kept) {
        return kept.lane->ends().input == pass.input && kept.lane->ends().output == pass.output;
      });
      if (found == lanes_.end()) {
        if (setup_->device().is_cuda() && lanes_.size() == kPassesKept) lanes_.pop_back();
        std::unique_ptr<Lane> built = build(batch, pass);
        drop_lanes_beside(*built);
        found = lanes_.insert(lanes_.begin(), {std::move(built), 0});
      }
      found->calls |= bit_of(call);
    }
    std::rotate(lanes_.begin(), found, found + 1);
    return *lanes_.front().lane;
  }

 private:
  static const void* at(const void* images, int64_t first, size_t bytes) {
    return static_cast<const char*>(images) + static_cast<size_t>(first) * bytes;
  }

  int64_t answer_on_device(const void* images, int64_t count, Answers answers, InputOutput call,
                           void* handle) {
    const Device device = setup_->device();
    if (!device.is_cuda())
      throw UsageError(
          "the model computes on the CPU, which cannot read the memory of a GPU; load it with a "
          "CUDA device, or pass host memory");
    if (pass_) throw UsageError("a single-pass model takes host memory");
    const DeviceGuard guard(device);
    demand_on(device, images, "images");
    demand_on(device, answers.data, "answers' place");
    if (answers.probabilities) demand_on(device, answers.probabilities, "probabilities' place");
    Stream stream = Stream::borrowed(device, handle);
    const uint64_t capture = stream.capture_id();
    const bool apart = answers.probabilities != nullptr;
    for (int64_t done = 0; done < count;) {
      const int64_t batch = std::min(device_pass_limit(call), count - done);
      Lane& taken = device_lane(batch, call, apart, capture);
      taken.run_on_device(at(images, done, taken.image_bytes(call.input)),
                          answers.from(done, taken.answer_bytes(call.output)), stream);
      done += batch;
    }
    return count;
  }

  static void demand_on(Device device, const void* data, const char* what) {
    const runtime::Whereabouts found = runtime::whereabouts(data);
    const bool on_device = found.kind == runtime::Whereabouts::Kind::kDevice;
    if (!on_device || found.ordinal != device.ordinal)
      throw UsageError(concat("the ", what, " must be memory of ", device.to_string(), ", found ",
                              on_device ? concat("that of cuda:", found.ordinal) : "host memory"));
    if (reinterpret_cast<uintptr_t>(data) % sizeof(int32_t) != 0)
      throw UsageError(concat("the ", what, " must be aligned to ", sizeof(int32_t), " bytes"));
  }

  // The whole network at once takes no memory for images and few for the rest, so a call is one pass.
  int64_t device_pass_limit(InputOutput call) const {
    return asked_batch_ || setup_->execution(1, call) != Plan::kFused ? pass_limit_ : kMaxModelBatch;
  }

  /// A lane for calls on the device. One whose passes write memory of their own, recorded into a CUDA graph, belongs to
  /// that graph, which may run at any time; so do the weights of any recorded one.
  struct DeviceLane {
    std::unique_ptr<Lane> lane;
    InputOutput call;
    bool apart = false;    // predictions as two arrays
    uint64_t capture = 0;  // that recorded it last; 0: none
    bool fits(uint64_t id) const {
      return capture == 0 || capture == id || !(apart || lane->executable().writes_own_memory());
    }
  };

  Lane& device_lane(int64_t batch, InputOutput call, bool apart, uint64_t capture) {
    auto found = std::find_if(device_lanes_.begin(), device_lanes_.end(), [&](const DeviceLane& kept) {
      return kept.lane->batch() == batch && kept.call.input == call.input &&
             kept.call.output == call.output && kept.apart == apart && kept.fits(capture);
    });
    if (found == device_lanes_.end()) {
      if (capture != 0)
        throw UsageError(concat("the stream records a CUDA graph, and the model is not prepared for ", batch,
                                " images there: make the same call once before the capture"));
      drop_device_lane();
      found = device_lanes_.insert(device_lanes_.begin(), {build_on_device(batch, call), call, apart, 0});
    }
    if (capture != 0) found->capture = capture;
    std::rotate(device_lanes_.begin(), found, found + 1);
    return *device_lanes_.front().lane;
  }

  // The one used least recently, if there are many. The runtime waits for the work of any stream before it frees.
  void drop_device_lane() {
    const auto is_free = [](const DeviceLane& kept) { return kept.capture == 0; };
    if (std::count_if(device_lanes_.begin(), device_lanes_.end(), is_free) <
        static_cast<std::ptrdiff_t>(kPassesKept))
      return;
    const auto last = std::find_if(device_lanes_.rbegin(), device_lanes_.rend(), is_free);
    device_lanes_.erase(std::next(last).base());
  }

  std::unique_ptr<Lane> build_on_device(int64_t batch, InputOutput call) {
    const InputOutput pass = pass_for(batch, call);
    if (pass.input != call.input || pass.output != call.output)
      throw UnavailableError(
          concat("a pass of this plan reads ", to_string(pass.input), " and writes ", to_string(pass.output),
                 "; in the GPU's memory ", to_string(call.input), " and ", to_string(call.output),
                 " are not converted: use plan auto or fused, or pass normalised floats to run()"));
    BuildOptions options = setup_->build_options(batch, pass);
    options.caller_ends = options.execution == Plan::kFused;
    return std::make_unique<Lane>(setup_->graph(), options);
  }

  /// For a large call from host memory; null if lane() should serve it.
  Feed* feed_for(int64_t count, InputOutput call) {
    if (!setup_->device().is_cuda()) return nullptr;
    const size_t image =
        static_cast<size_t>(setup_->graph().input_shape().num_elements()) * element_bytes(call.input);
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
      const BuildOptions options = setup_->build_options(batch, pass_for(batch, call));
      if (options.execution == Plan::kFused) {
        const auto build = [&] {
          feed = std::make_unique<Feed>(setup_->graph(), options, feed_options(options, setup_->graph()));
          feed->prepare();
        };
        try {
          build();
        } catch (const MemoryError&) {
          if (lanes_.empty()) throw;
          lanes_.clear();  // frees the cached passes and tries again
          build();
        }
      }
    }
    return feeds_.emplace_back(KeptFeed{call, batch, std::move(feed)}).feed.get();
  }

  /// A feed for large calls of these types; none if layers compute them.
  struct KeptFeed {
    InputOutput call;
    int64_t batch = 0;  // of its passes
    std::unique_ptr<Feed> feed;
  };

  /// A lane, and the types of calls that it supports, found without asking the backends again.
  struct KeptLane {
    std::unique_ptr<Lane> lane;
    unsigned calls = 0;  // of bit_of()
  };
  static unsigned bit_of(InputOutput call) {
    return 1u << (2 * static_cast<int>(call.input == ElementType::kUint8) +
                  static_cast<int>(call.output == ElementType::kClass));
  }

  static FeedOptions feed_options(const BuildOptions& pass, const Graph& graph) {
    const ElementType input = pass.plan ? pass.plan->input : pass.input;
    const bool whole = (pass.plan ? pass.plan->execution : pass.execution) == Plan::kFused;
    return FeedOptions::for_host_memory(
        pass.device, whole,
        static_cast<size_t>(pass.batch * graph.input_shape().num_elements()) * element_bytes(input));
  }

  static InputOutput demand_supports(const Plan& plan, InputOutput call) {
    const InputOutput pass{plan.input, plan.output};
    if (supports(pass, call)) return pass;
    throw DataError(concat(plan.origin, ": the plan reads ", to_string(pass.input), " and writes ",
                           to_string(pass.output), "; this call gives ", to_string(call.input), " and wants ",
                           call.output == ElementType::kFp32 ? "logits" : "predictions"));
  }

  InputOutput supported(InputOutput call) const {
    demand_supports(feed_->lane().executable().plan(), call);
    return call;
  }

  // Those used least recently, until the rest and `built` are few or small.
  void drop_lanes_beside(Lane& built) {
    double bytes = bytes_of(built);
    for (const KeptLane& kept : lanes_) bytes += bytes_of(*kept.lane);
    for (; lanes_.size() >= kPassesKept && bytes > kCpuBytesKept; lanes_.pop_back())
      bytes -= bytes_of(*lanes_.back().lane);
  }

  static double bytes_of(Lane& lane) {
    double bytes = 0;
    for (const Executable::Step& step : lane.executable().steps()) bytes += step.work.bytes;
    return bytes;
  }

  std::unique_ptr<Lane> build(int64_t batch, InputOutput pass) {
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

  std::shared_ptr<const ModelSetup> setup_;
  int64_t pass_limit_;
  bool asked_batch_ = false;  // by the caller
  // For a single-pass model.
  std::optional<BuildOptions> pass_;
  std::unique_ptr<Feed> feed_;
  // For any other model, most recently used first.
  std::vector<KeptLane> lanes_;
  std::vector<DeviceLane> device_lanes_;
  std::vector<KeptFeed> feeds_;
};

Model Model::load(const std::string& path, const ModelOptions& options) {
  if (path.empty()) throw UsageError("the path of the weights is empty; Model::built_in() needs none");
  return Model(std::make_unique<State>(std::make_shared<ModelSetup>(choices_of(options, path)), options));
}

Model Model::built_in(const ModelOptions& options) {
  return Model(std::make_unique<State>(std::make_shared<ModelSetup>(choices_of(options, "")), options));
}

Model Model::with_options(const ModelOptions& options) const {
  auto setup = std::make_shared<ModelSetup>(choices_of(options, ""), state_->setup());
  return Model(std::make_unique<State>(std::move(setup), options));
}

Model::Model(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass)
    : Model(std::make_unique<State>(std::move(setup), pass)) {}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

void Model::predict(const uint8_t* pixels, int64_t count, Prediction* predictions, const Place& place) {
  demand_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(pixels, count, {predictions}, kBytesToPredictions, place);
}

void Model::predict(const float* images, int64_t count, Prediction* predictions, const Place& place) {
  demand_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(images, count, {predictions}, kValuesToPredictions, place);
}

void Model::predict(const uint8_t* pixels, int64_t count, PredictionArrays answers, const Place& place) {
  demand_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(pixels, count, both(answers, count), kBytesToPredictions, place);
}

void Model::predict(const float* images, int64_t count, PredictionArrays answers, const Place& place) {
  demand_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(images, count, both(answers, count), kValuesToPredictions, place);
}

int64_t Model::logits(const uint8_t* pixels, int64_t count, float* logits, const Progress& progress) {
  demand_digits(state_->setup().network(), "logits()", kRunSupports);
  const int64_t done = run(pixels, count, logits, progress);
  if (writes_probabilities(state_->setup().graph()))
    make_logits(logits, done * output_shape().num_elements());
  return done;
}

void Model::logits(const uint8_t* pixels, int64_t count, float* logits, const Place& place) {
  if (!place.is_on_device()) {
    this->logits(pixels, count, logits);
    return;
  }
  demand_digits(state_->setup().network(), "logits()", kRunSupports);
  demand_logits(state_->setup().network());
  state_->answer(pixels, count, {logits}, kBytesToValues, place);
}

void Model::logits(const float* images, int64_t count, float* logits, const Place& place) {
  demand_digits(state_->setup().network(), "logits()", kRunSupports);
  if (place.is_on_device()) demand_logits(state_->setup().network());
  run(images, count, logits, place);
  if (writes_probabilities(state_->setup().graph()))
    make_logits(logits, count * output_shape().num_elements());
}

void Model::run(const float* inputs, int64_t count, float* outputs, const Place& place) {
  state_->answer(inputs, count, {outputs}, kValues, place);
}

int64_t Model::run(const uint8_t* pixels, int64_t count, float* outputs, const Progress& progress) {
  if (!state_->setup().network().channels.empty())
    throw DataError(
        concat(printable_excerpt(state_->setup().network().origin),
               ": each channel has its own mean and std; run() takes its normalised values only"));
  return state_->answer(pixels, count, {outputs}, kBytesToValues, {}, progress);
}

Shape Model::input_shape() const { return state_->setup().graph().input_shape(); }

Shape Model::output_shape() const { return state_->setup().graph().output_shape(); }

std::vector<LayerInfo> Model::layers(int64_t batch) {
  check_batch(batch);
  return layers_of(state_->lane(batch, kValues).executable());
}

int64_t Model::pass_size() const noexcept { return state_->pass_size(); }

Device Model::device() const noexcept { return state_->setup().device(); }

std::string Model::device_name() const { return state_->setup().device_name(); }

const Normalisation& Model::normalisation() const noexcept { return state_->setup().graph().normalisation(); }

double Model::energy_threshold() const noexcept { return state_->setup().energy_threshold().value_or(NAN); }

Plan Model::plan(int64_t batch) {
  check_batch(batch);
  return executable(batch).plan();
}

void Model::prepare() { state_->prepare(); }

Executable& Model::executable(int64_t batch) { return state_->lane(batch, kBytesToPredictions).executable(); }

std::vector<BackendChoice> Model::backends(int64_t batch) const {
  check_batch(batch);
  const ModelSetup& setup = state_->setup();
  const Graph& graph = setup.graph();
  BuildOptions build;
  build.device = setup.device();
  build.batch = batch;
  build.math = setup.math();
  std::vector<BackendChoice> choices;
  const auto add = [&](const Graph& listed, InputOutput ends) {
    build.input = ends.input;
    build.output = ends.output;
    for (const TuneCandidate& candidate : tune_candidates(listed, build)) {
      if (candidate.nodes.size() > 1) continue;
      const bool refused = candidate.status == "UNSUPPORTED";
      choices.push_back({listed.nodes()[candidate.nodes[0]].name, candidate.backend,
                         refused ? candidate.reason : std::string()});
    }
  };
  add(graph, {});
  if (graph.whole()) add(*graph.whole(), kBytesToPredictions);
  return choices;
}

ModelProfile Model::profile(int64_t batch, double min_time_ms, std::function<bool()> stop) const {
  check_batch(batch);
  if (!(min_time_ms >= 0 && min_time_ms <= kMaxProfileMs))
    throw UsageError(concat("min_time_ms must be 0 to ", kMaxProfileMs, ", found ", min_time_ms));
  // A separate executable: the profile shows a pass whose input and output are in the device's memory.
  Executable executable(state_->setup().graph(), state_->profile_options(batch));
  Lane lane(executable);
  lane.load(random_pixels(batch * lane.image_values()).data());
  ProfileOptions options;
  options.min_time_ms = min_time_ms;
  options.cold = options.copies = false;
  options.stop = std::move(stop);
  const Profile measured = lenslet::profile(executable, options);

  ModelProfile result;
  result.device = executable.device().to_string();
  result.plan = executable.plan().execution;
  result.batch = batch;
  result.total_ns = measured.unprofiled.median;
  for (const LayerProfile& layer : measured.layers) {
    const Executable::Step& step = executable.steps()[layer.step];
    result.layers.push_back({step.name, step.backend, step.uses_math ? to_string(step.math) : "",
                             layer.hot.median, layer.hot.p10, layer.hot.p90});
  }
  return result;
}

}  // namespace lenslet
