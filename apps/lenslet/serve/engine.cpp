#include "apps/lenslet/serve/engine.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/number_reader.h"
#include "apps/common/fields/fields.h"
#include "apps/common/output/text.h"
#include "apps/lenslet/pictures/answer.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/base/serial_loops.h"
#include "framework/base/text.h"
#include "framework/io/picture.h"
#include "framework/tensor/pixels.h"
#include "models/classifier.h"
#include "models/digit/picture_input.h"

namespace lenslet::serve {
namespace {

// A pass that takes less is computed by the thread of the connection.
constexpr std::chrono::microseconds kQuick(50);
constexpr int kQuickTries = 10;  // the quickest counts, so that no interruption decides. Chosen by hand
constexpr const char* kPictureName = "picture";
constexpr char kUseInfer[] = "use infer";  // the request that takes any network

// The model's name in URLs, with characters that need no encoding.
std::string url_name(const ServeOptions& options, const Graph& graph) {
  std::string name = graph.network() ? graph.name() : options.model;
  if (const size_t slash = name.rfind('/'); slash != std::string::npos) name.erase(0, slash + 1);
  if (ends_with(name, ".onnx")) name.resize(name.size() - 5);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_';
    if (!plain) c = '_';
  }
  return name.empty() ? "model" : name;
}

ServeOptions with_default_weights(ServeOptions options) {
  if (options.weights_file().empty()) options.weights = kRobustWeights;
  return options;
}

std::string text_of(const Answer& answer) {
  nlohmann::ordered_json json;
  JsonObject::put(json, answer);
  return json.dump();
}

// Pixels go to the passes that read bytes, if there are any, and else as normalised values to the others.
template <class Runner>
void run_samples(Runner& values, std::optional<Runner>& pixels, const Samples& samples, int64_t count,
                 const Signature& signature, float* outputs) {
  if (!samples.are_pixels()) {
    values.run(samples.values.data(), count, outputs);
  } else if (pixels) {
    pixels->run(samples.pixels.data(), count, outputs);
  } else {
    values.run(values_of(samples.pixels, signature).data(), count, outputs);
  }
}

}  // namespace

Engine::Engine(const ServeOptions& options, const Console& console)
    : options_(with_default_weights(options)),
      session_(options_, console, chosen_normalisation(options_)),
      choices_(picture_choices(options_, session_.network())),
      pictures_(session_.model(1)) {
  session_.check_plan_writes_logits();
  const Graph& graph = session_.graph();
  signature_.model = url_name(options_, graph);
  signature_.input = graph.nodes().front().name;
  signature_.output = graph.nodes().back().name;
  signature_.input_shape = graph.input_shape();
  signature_.output_shape = graph.output_shape();
  signature_.normalisations = session_.network().channels;
  if (signature_.normalisations.empty()) signature_.normalisations = {graph.normalisation()};
  signature_.max_samples = std::max(options_.max_queue, options_.max_batch);

  const int64_t max_batch = options_.max_batch;
  values_.emplace(session_, ElementType::kFp32, max_batch);
  const InputOutput of_pixels{ElementType::kUint8, ElementType::kFp32};
  if (session_.network().channels.empty() &&
      session_.setup().pass_for(max_batch, of_pixels).input == ElementType::kUint8)
    pixels_.emplace(session_, ElementType::kUint8, max_batch);
  if (session_.device().kind == DeviceKind::kCpu) prepare_single_passes();
}

Model Engine::single_model(Passes& as) const {
  BuildOptions build = session_.setup().build_options(1, {as.plan().input, ElementType::kFp32});
  build.plan = &as.plan();
  return session_.model(build);
}

void Engine::SinglePass::run(const Samples& sample, const Signature& signature, float* outputs) {
  run_samples(values, pixels, sample, 1, signature, outputs);
}

void Engine::prepare_single_passes() {
  using Clock = std::chrono::steady_clock;
  const Samples pixels{{}, random_pixels(signature_.input_shape.num_elements(), 1)};
  const Samples values{values_of(pixels.pixels, signature_), {}};
  std::vector<float> outputs(static_cast<size_t>(signature_.output_shape.num_elements()));
  const SerialLoops alone;
  for (int i = 0; i < num_threads(); ++i) {
    SinglePass pass{single_model(*values_), {}};
    if (pixels_) pass.pixels.emplace(single_model(*pixels_));
    auto quickest = Clock::duration::max();
    for (int tried = 0; tried < kQuickTries; ++tried) {  // allocates here, not with the first request
      pass.run(pixels, signature_, outputs.data());
      const auto began = Clock::now();
      pass.run(values, signature_, outputs.data());
      quickest = std::min(quickest, Clock::now() - began);
    }
    if (i == 0 && quickest > kQuick) return;
    single_passes_.add(std::move(pass));
  }
}

std::vector<float> Engine::infer(const Samples& samples, int64_t count) {
  std::vector<float> outputs(static_cast<size_t>(count * signature_.output_shape.num_elements()));
  run_samples(*values_, pixels_, samples, count, signature_, outputs.data());
  return outputs;
}

bool Engine::infer_at_once(const Samples& sample, std::vector<float>& outputs) {
  return single_passes_.with_free([&](SinglePass& pass) {
    outputs.resize(static_cast<size_t>(signature_.output_shape.num_elements()));
    const SerialLoops
        alone;  // waiting for the threads of a batch's loop would delay this thread's other connections
    pass.run(sample, signature_, outputs.data());
  });
}

std::string Engine::classify(const std::vector<uint8_t>& file) {
  return reads_digits(options_, session_.network()) ? classify_digits(file) : classify_other(file);
}

std::string Engine::classify_digits(const std::vector<uint8_t>& file) {
  const Picture picture = decode_picture(file, kPictureName, options_.picture_limits);
  DigitInput input;
  input.file = kPictureName;
  return text_of(answer_from(input, read_number(pictures_, picture)));
}

std::string Engine::classify_other(const std::vector<uint8_t>& file) {
  const std::string name = concat("the model '", signature_.model, "'");
  check_writes_classes(session_.graph(), name, kUseInfer);
  const PictureLayout layout = check_reads_pictures(session_.graph(), name, kUseInfer);
  const Picture picture = decode_picture(file, kPictureName, options_.picture_limits);
  const std::vector<uint8_t> pixels = picture_input(picture, layout, options_.fit);
  std::vector<float> values(pixels.size()),
      logits(static_cast<size_t>(signature_.output_shape.num_elements()));
  choices_.normalise(pixels, values.data());
  pictures_.run(values.data(), 1, logits.data());
  if (writes_probabilities(session_.graph())) make_logits(logits.data(), static_cast<int64_t>(logits.size()));
  DigitInput input;
  input.file = kPictureName;
  return text_of(answer_from(input, logits, choices_.labels));
}

std::string Engine::describe() {
  return concat(session_.network().title(), ", ", printable(session_.weights_origin()), ", on ",
                session_.describe_device(), ": ", describe_backends(values_->plan()),
                pixels_ ? "; pixels: " + describe_backends(pixels_->plan()) : std::string());
}

}  // namespace lenslet::serve
