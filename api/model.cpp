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
      : setup_(std::move(setup)), pass_limit_(pass_limit(options, setup_->device(), setup_->graph())) {
    lane(1, kBytesToPredictions);  // reports an unsupported request now instead of at the first call
  }
  State(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass)
      : setup_(std::move(setup)),
        pass_limit_(pass.batch),
        pass_(pass),
        feed_(std::make_unique<Feed>(setup_->graph(), pass, feed_options(pass.device))) {}

  const ModelSetup& setup() const noexcept { return *setup_; }
  int64_t pass_size() const noexcept { return pass_limit_; }

  template <typename Input, typename Answer>
  int64_t answer(const Input* images, int64_t count, Answer* answers, int64_t answers_per_image,
                 InputOutput call, const Progress& progress = {}) {
    if (count < 0) throw UsageError(concat("the number of images must not be negative, found ", count));
    if (count == 0) return 0;
    if (!images || !answers)
      throw UsageError(concat("the ", images ? "answers' place" : "images", " must not be a null pointer"));
    if (feed_) return feed_->run(images, count, answers, supported(call), progress);
    int64_t done = 0;
    while (done < count && (!progress || progress(done))) {
      const int64_t batch = std::min(pass_limit_, count - done);
      Lane& taken = lane(batch, call);
      taken.run(images + done * taken.image_values(), batch, answers + done * answers_per_image, call);
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
  /// A lane, and the types of calls that it supports, found without asking the backends again.
  struct KeptLane {
    std::unique_ptr<Lane> lane;
    unsigned calls = 0;  // of bit_of()
  };
  static unsigned bit_of(InputOutput call) {
    return 1u << (2 * static_cast<int>(call.input == ElementType::kUint8) +
                  static_cast<int>(call.output == ElementType::kClass));
  }

  static FeedOptions feed_options(Device device) {
    FeedOptions options;
    options.depth = device.is_cuda() ? 2 : 1;  // the host prepares one chunk while another computes
    options.staged = true;
    return options;
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
  // For a single-pass model.
  std::optional<BuildOptions> pass_;
  std::unique_ptr<Feed> feed_;
  std::vector<KeptLane> lanes_;  // for any other model, most recently used first
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

void Model::predict(const uint8_t* pixels, int64_t count, Prediction* predictions) {
  demand_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(pixels, count, predictions, 1, kBytesToPredictions);
}

void Model::predict(const float* images, int64_t count, Prediction* predictions) {
  demand_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(images, count, predictions, 1, {ElementType::kFp32, ElementType::kClass});
}

int64_t Model::logits(const uint8_t* pixels, int64_t count, float* logits, const Progress& progress) {
  demand_digits(state_->setup().network(), "logits()", kRunSupports);
  const int64_t done = run(pixels, count, logits, progress);
  if (writes_probabilities(state_->setup().graph()))
    make_logits(logits, done * output_shape().num_elements());
  return done;
}

void Model::logits(const float* images, int64_t count, float* logits) {
  demand_digits(state_->setup().network(), "logits()", kRunSupports);
  run(images, count, logits);
  if (writes_probabilities(state_->setup().graph()))
    make_logits(logits, count * output_shape().num_elements());
}

void Model::run(const float* inputs, int64_t count, float* outputs) {
  state_->answer(inputs, count, outputs, output_shape().num_elements(), kValues);
}

int64_t Model::run(const uint8_t* pixels, int64_t count, float* outputs, const Progress& progress) {
  if (!state_->setup().network().channels.empty())
    throw DataError(
        concat(printable_excerpt(state_->setup().network().origin),
               ": each channel has its own mean and std; run() takes its normalised values only"));
  return state_->answer(pixels, count, outputs, output_shape().num_elements(),
                        {ElementType::kUint8, ElementType::kFp32}, progress);
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
