#include "api/model.h"

#include <algorithm>
#include <random>
#include <utility>

#include "api/model_setup.h"
#include "api/pass_runner.h"
#include "framework/profiler.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
// A caller has a batch or two and their remainders; a pass on a GPU may hold gigabytes.
constexpr size_t kPassesKept = 4;
// The CPU's caches want small passes, a GPU large ones.
constexpr int64_t kDefaultCpuBatch = 1024, kDefaultGpuBatch = 65536;
constexpr InputOutput kBytesToPredictions{ElementType::kUint8, ElementType::kPrediction};

SetupOptions setup_options(const ModelOptions& options, const std::string& weights) {
  SetupOptions setup;
  setup.device = options.device;
  setup.plan = options.plan;
  setup.backend = options.backend;
  const MathMode math = parse_math_mode(options.math);
  if (math != MathMode::kFp32)
    setup.math = math;  // the default is not a wish that a plan's file could contradict
  setup.weights = weights;
  setup.workspace_limit = options.workspace_limit;
  setup.option_prefix.clear();
  if (options.max_batch < 0 || options.max_batch > kMaxModelBatch) {
    throw UsageError(
        concat("max_batch must be 0 (the default) to ", kMaxModelBatch, ", found ", options.max_batch));
  }
  return setup;
}

int64_t pass_limit(const ModelOptions& options, Device device) {
  if (options.max_batch > 0) return options.max_batch;
  return device.is_cuda() ? kDefaultGpuBatch : kDefaultCpuBatch;
}

void check_batch(int64_t batch) {
  if (batch < 1 || batch > kMaxModelBatch)
    throw UsageError(concat("the batch must be 1 to ", kMaxModelBatch, ", found ", batch));
}

// Pixels of no meaning: what is timed does not depend on them.
void fill_with_noise(Executable& executable) {
  TensorView input = executable.input();
  std::vector<uint8_t> bytes(static_cast<size_t>(executable.batch() * kPixels));
  std::mt19937 random(1);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  std::vector<float> normalised;
  const void* source = bytes.data();
  if (input.type == ElementType::kFp32) {
    normalised.resize(bytes.size());
    executable.graph().normalization().apply(bytes.data(), static_cast<int64_t>(bytes.size()),
                                             normalised.data());
    source = normalised.data();
  }
  copy_bytes(input.data, input.device, source, Device::cpu(), input.bytes(), executable.stream());
  executable.stream().synchronize();
}

}  // namespace

class Model::State {
 public:
  State(const ModelOptions& options, const std::string& weights)
      : setup_(setup_options(options, weights)), pass_limit_(pass_limit(options, setup_.device())) {
    runner(1, kBytesToPredictions);  // what cannot serve is told now, not at the first call
  }
  State(const ModelOptions& options, const State& weights)
      : setup_(setup_options(options, ""), weights.setup_),
        pass_limit_(pass_limit(options, setup_.device())) {
    runner(1, kBytesToPredictions);
  }

  const ModelSetup& setup() const noexcept { return setup_; }

  template <typename Input, typename Answer>
  void answer(const Input* images, int64_t count, Answer* answers, int64_t answers_per_image,
              InputOutput call) {
    if (count < 0) throw UsageError(concat("the number of images must not be negative, found ", count));
    if (count == 0) return;
    if (!images || !answers)
      throw UsageError(concat("the ", images ? "answers' place" : "images", " must not be a null pointer"));
    for (int64_t first = 0; first < count; first += pass_limit_) {
      const int64_t batch = std::min(pass_limit_, count - first);
      runner(batch, call).run(images + first * kPixels, answers + first * answers_per_image, call);
    }
  }

  /// What a pass reads and writes for such a call. The nearest to the call that the choices made can do: bytes are read
  /// and predictions written by the pass itself, where the plan has that, else around it.
  InputOutput pass_for(int64_t batch, InputOutput call) const {
    if (const Plan* saved = setup_.saved_plan()) {
      const InputOutput pass{saved->input, saved->output};
      if (serves(pass, call)) return pass;
      throw DataError(concat(saved->origin, ": the plan reads ", to_string(pass.input), " and writes ",
                             to_string(pass.output), "; this call gives ", to_string(call.input),
                             " and wants ", call.output == ElementType::kFp32 ? "logits" : "predictions"));
    }
    const InputOutput plain;
    const InputOutput wishes[] = {call, {plain.input, call.output}, {call.input, plain.output}};
    for (const InputOutput& wish : wishes) {
      if (setup_.execution(batch, wish) != Plan::kFused) continue;
      if (setup_.fused_serves(batch, wish)) return wish;
    }
    return plain;
  }

  /// Built on first use; of those that were not used for longest, all but a few are dropped.
  PassRunner& runner(int64_t batch, InputOutput call) {
    const InputOutput pass = pass_for(batch, call);
    const auto found = std::find_if(runners_.begin(), runners_.end(), [&](const Kept& kept) {
      return kept.runner->batch() == batch && kept.pass.input == pass.input &&
             kept.pass.output == pass.output;
    });
    if (found != runners_.end()) {
      std::rotate(runners_.begin(), found, found + 1);
    } else {
      if (runners_.size() == kPassesKept) runners_.pop_back();
      runners_.insert(runners_.begin(), {pass, build(batch, pass)});
    }
    return *runners_.front().runner;
  }

 private:
  struct Kept {
    InputOutput pass;
    std::unique_ptr<PassRunner> runner;
  };

  std::unique_ptr<PassRunner> build(int64_t batch, InputOutput pass) {
    try {
      return std::make_unique<PassRunner>(setup_, batch, pass);
    } catch (const MemoryError&) {
      if (runners_.empty()) throw;
    }
    runners_.clear();  // what is kept for speed must not stand in the way
    return std::make_unique<PassRunner>(setup_, batch, pass);
  }

  ModelSetup setup_;
  int64_t pass_limit_;
  std::vector<Kept> runners_;  // the last used first
};

Model Model::load(const std::string& path, const ModelOptions& options) {
  if (path.empty()) throw UsageError("the path of the weights is empty; Model::built_in() needs none");
  return Model(std::make_unique<State>(options, path));
}

Model Model::built_in(const ModelOptions& options) { return Model(std::make_unique<State>(options, "")); }

Model Model::with_options(const ModelOptions& options) const {
  return Model(std::make_unique<State>(options, *state_));
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

void Model::predict(const uint8_t* pixels, int64_t count, Prediction* predictions) {
  state_->answer(pixels, count, predictions, 1, kBytesToPredictions);
}

void Model::predict(const float* images, int64_t count, Prediction* predictions) {
  state_->answer(images, count, predictions, 1, {ElementType::kFp32, ElementType::kPrediction});
}

void Model::logits(const uint8_t* pixels, int64_t count, float* logits) {
  state_->answer(pixels, count, logits, kLenet5Classes, {ElementType::kUint8, ElementType::kFp32});
}

void Model::logits(const float* images, int64_t count, float* logits) {
  state_->answer(images, count, logits, kLenet5Classes, {ElementType::kFp32, ElementType::kFp32});
}

Device Model::device() const noexcept { return state_->setup().device(); }

std::string Model::device_name() const { return state_->setup().device_name(); }

const Normalization& Model::normalization() const noexcept { return state_->setup().graph().normalization(); }

Plan Model::plan(int64_t batch) {
  check_batch(batch);
  return state_->runner(batch, kBytesToPredictions).plan();
}

std::vector<BackendChoice> Model::backends(int64_t batch) const {
  check_batch(batch);
  const ModelSetup& setup = state_->setup();
  const Graph& graph = setup.graph();
  const std::vector<Shape> shapes = graph.infer_shapes(batch);
  std::vector<BackendChoice> choices;
  const auto add = [&choices](const std::string& layer, const std::string& backend, const Support& support) {
    choices.push_back({layer, backend, support ? "" : support.reason()});
  };
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    if (!node.layer) continue;
    OperatorRequest request;
    request.device = setup.device();
    for (const int input : node.inputs) request.inputs.push_back(shapes[static_cast<size_t>(input)]);
    request.output = shapes[i];
    if (node.layer->uses_math()) request.math = setup.math();
    for (const std::string& backend : node.layer->backends(request.device.kind))
      add(node.name, backend, node.layer->supports(backend, request));
  }
  const FusedRequest request = setup.fused_request(batch, kBytesToPredictions);
  for (const std::string& variant : graph.fused()->variants(request.device.kind))
    add(graph.name(), variant, graph.fused()->supports(variant, request));
  return choices;
}

ModelProfile Model::profile(int64_t batch, double min_time_ms, std::function<bool()> stop) const {
  check_batch(batch);
  if (!(min_time_ms >= 0 && min_time_ms <= kMaxProfileMs))
    throw UsageError(concat("min_time_ms must be 0 to ", kMaxProfileMs, ", found ", min_time_ms));
  const ModelSetup& setup = state_->setup();
  // Of its own: what a device does in a pass, with input and output in its own memory.
  Executable executable(setup.graph(),
                        setup.build_options(batch, state_->pass_for(batch, kBytesToPredictions)));
  fill_with_noise(executable);
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
