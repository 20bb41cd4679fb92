#include "api/model.h"

#include <cmath>
#include <utility>

#include "api/feed.h"
#include "api/model_setup.h"
#include "api/model_state.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/execution/profiler.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/pixels.h"
#include "models/classifier.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

constexpr const char* kRunSupports = "; run() supports any network";
constexpr InputOutput kValues{ElementType::kFp32, ElementType::kFp32};
constexpr InputOutput kValuesToPredictions{ElementType::kFp32, kPrediction};
constexpr InputOutput kBytesToValues{ElementType::kUint8, ElementType::kFp32};
constexpr InputOutput kPairsToPredictions{ElementType::kUint4, kPrediction};
constexpr InputOutput kPairsToValues{ElementType::kUint4, ElementType::kFp32};

Choices choices_of(const ModelOptions& options, const std::string& weights) {
  Choices choices;
  choices.device = options.device;
  choices.several_devices = true;
  choices.plan = options.plan;
  choices.backend = options.backend;
  const MathMode math = parse_math_mode(options.math);
  if (math != MathMode::kFp32) choices.math = math;  // only another mode overrides a plan file's
  choices.weights = weights;
  choices.workspace_limit = options.workspace_limit;
  choices.option_prefix.clear();
  choices.graph = parse_graph_use(options.graph, choices.option_prefix);
  if (options.max_batch < 0 || options.max_batch > kMaxModelBatch) {
    throw UsageError(
        concat("max_batch must be 0 (the default) to ", kMaxModelBatch, ", found ", options.max_batch));
  }
  return choices;
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
void check_writes_logits(const Network& network) {
  if (!writes_probabilities(network.graph)) return;
  throw UnavailableError(concat(printable_excerpt(network.origin),
                                ": the network writes probabilities, and logits of them are computed in host "
                                "memory only; call run() for the probabilities"));
}

}  // namespace

Model Model::load(const std::string& path, const ModelOptions& options) {
  if (path.empty()) throw UsageError("the path of the weights is empty; Model::built_in() needs none");
  return Model(std::make_shared<ModelSetup>(choices_of(options, path)), options);
}

Model Model::built_in(const ModelOptions& options) {
  return Model(std::make_shared<ModelSetup>(choices_of(options, "")), options);
}

Model Model::with_options(const ModelOptions& options) const { return of_setup(state_->setup(), options); }

Model Model::of_setup(const ModelSetup& weights, const ModelOptions& options) {
  return Model(std::make_shared<ModelSetup>(choices_of(options, ""), weights), options);
}

Model::Model(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass)
    : Model(std::make_unique<State>(std::move(setup), pass)) {}

Model::Model(std::shared_ptr<const ModelSetup> setup, const ModelOptions& options)
    : Model(std::make_unique<State>(std::move(setup), options)) {}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

void Model::predict(const uint8_t* pixels, int64_t count, Prediction* predictions, const Place& place) {
  check_reads_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(pixels, count, {predictions}, kBytesToPredictions, place);
}

void Model::predict(const float* images, int64_t count, Prediction* predictions, const Place& place) {
  check_reads_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(images, count, {predictions}, kValuesToPredictions, place);
}

void Model::predict(const uint8_t* pixels, int64_t count, PredictionArrays answers, const Place& place) {
  check_reads_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(pixels, count, both(answers, count), kBytesToPredictions, place);
}

void Model::predict(const float* images, int64_t count, PredictionArrays answers, const Place& place) {
  check_reads_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(images, count, both(answers, count), kValuesToPredictions, place);
}

void Model::predict(const PixelPair* pairs, int64_t count, Prediction* predictions, const Place& place) {
  check_reads_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(pairs, count, {predictions}, kPairsToPredictions, place);
}

void Model::predict(const PixelPair* pairs, int64_t count, PredictionArrays answers, const Place& place) {
  check_reads_digits(state_->setup().network(), "predict()", kRunSupports);
  state_->answer(pairs, count, both(answers, count), kPairsToPredictions, place);
}

int64_t Model::logits(const uint8_t* pixels, int64_t count, float* logits, const Progress& progress) {
  check_reads_digits(state_->setup().network(), "logits()", kRunSupports);
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
  check_reads_digits(state_->setup().network(), "logits()", kRunSupports);
  check_writes_logits(state_->setup().network());
  state_->answer(pixels, count, {logits}, kBytesToValues, place);
}

void Model::logits(const float* images, int64_t count, float* logits, const Place& place) {
  check_reads_digits(state_->setup().network(), "logits()", kRunSupports);
  if (place.is_on_device()) check_writes_logits(state_->setup().network());
  run(images, count, logits, place);
  if (writes_probabilities(state_->setup().graph()))
    make_logits(logits, count * output_shape().num_elements());
}

void Model::logits(const PixelPair* pairs, int64_t count, float* logits, const Place& place) {
  check_reads_digits(state_->setup().network(), "logits()", kRunSupports);
  if (place.is_on_device()) check_writes_logits(state_->setup().network());
  state_->answer(pairs, count, {logits}, kPairsToValues, place);
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

const std::shared_ptr<const ModelSetup>& Model::setup() const noexcept { return state_->shared_setup(); }

Device Model::device() const noexcept { return state_->setup().device(); }

std::string Model::device_name() const { return state_->setup().device_name(); }

const Normalisation& Model::normalisation() const noexcept { return state_->setup().graph().normalisation(); }

double Model::energy_threshold() const noexcept { return state_->setup().energy_threshold().value_or(NAN); }

Plan Model::plan(int64_t batch) {
  check_batch(batch);
  return executable(batch).plan();
}

std::vector<DeviceShare> Model::shares() const { return state_->shares(); }

const std::vector<Device>& Model::devices() const noexcept { return state_->setup().devices(); }

void Model::prepare() { state_->prepare(); }

void Model::run_checked() { state_->run_checked(); }

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
      const bool refused = candidate.status == row_status::kUnsupported;
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
  lane.load(random_pixels(batch * lane.image_values(), 1).data());
  ProfileOptions options;
  options.min_time_ms = min_time_ms;
  options.cold = options.copies = false;
  options.stop = std::move(stop);
  const Profile measured = lenslet::profile(executable, options);

  ModelProfile result;
  result.device = executable.device().to_string();
  result.plan = executable.plan().execution;
  result.batch = batch;
  result.total_ns = measured.uninstrumented.median;
  for (const LayerProfile& layer : measured.layers) {
    const Executable::Step& step = executable.steps()[layer.step];
    result.layers.push_back({step.name, step.backend, step.uses_math ? to_string(step.math) : "",
                             layer.hot.median, layer.hot.p10, layer.hot.p90});
  }
  return result;
}

}  // namespace lenslet
