#include "apps/lenslet/pages/picture_page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/number_reader.h"
#include "apps/common/fields/fields.h"
#include "apps/common/output/text.h"
#include "apps/common/system/environment.h"
#include "apps/lenslet/pages/encode.h"
#include "apps/lenslet/pages/network_json.h"
#include "apps/lenslet/pages/of_request.h"
#include "apps/lenslet/pictures/answer.h"
#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/text.h"
#include "framework/execution/tuner.h"
#include "framework/io/png_writer.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/host_values.h"
#include "models/classifier.h"
#include "models/digit/ink_picture.h"

namespace lenslet {

using Json = PicturePage::Json;

namespace {

constexpr size_t kMaxPasses = 8;      // kept, one for each choice of backends
constexpr int kMaxSide = 280;         // pixels of a picture on the page
constexpr size_t kPngBytes = 24'000;  // of a picture: with kPageValues the page stays below 1 MB
constexpr size_t kMaxClasses = 1000;  // with a probability on the page

// The picture with colours, whose longer side has at most `longest` pixels.
Picture scaled(const Picture& picture, int longest) {
  const double scale = std::min(1.0, double{1} * longest / std::max(picture.width, picture.height));
  const auto side = [&](int size) { return std::max<int64_t>(1, std::lround(size * scale)); };
  const PictureLayout layout{3, side(picture.height), side(picture.width), true};
  return {static_cast<int>(layout.width), static_cast<int>(layout.height), 3, picture_input(picture, layout),
          "PNG"};
}

// A photograph or noise, which PNG hardly compresses, is scaled down until it fits.
Json stage(const char* name, const std::string& text, const Picture& picture) {
  std::string png = encode_png(picture);
  for (int longest = std::max(picture.width, picture.height) / 2; png.size() > kPngBytes && longest > 0;
       longest /= 2)
    png = encode_png(scaled(picture, longest));
  return {{"name", name},
          {"text", text},
          {"width", picture.width},
          {"height", picture.height},
          {"png", "data:image/png;base64," + base64(png.data(), png.size())}};
}

// The pixels of a sample as a picture, whatever their order.
Picture sample_picture(const std::vector<uint8_t>& pixels, const PictureLayout& layout) {
  const auto planes = static_cast<size_t>(layout.channels);
  const size_t size = pixels.size() / planes;
  Picture picture{static_cast<int>(layout.width), static_cast<int>(layout.height),
                  static_cast<int>(layout.channels), pixels, "PNG"};
  if (layout.channels_last) return picture;
  for (size_t i = 0; i < size; ++i)
    for (size_t c = 0; c < planes; ++c) picture.pixels[i * planes + c] = pixels[c * size + i];
  return picture;
}

// The layout of the pictures that a network reads; the default one for digits. Throws DataError if it reads none.
PictureLayout layout_of(const PictureOptions& options, const Network& network) {
  check_writes_classes(network.graph, network.origin, kUseRun);
  if (reads_digits(options, network)) return {};
  return check_reads_pictures(network.graph, network.origin, "a page shows a network that reads pictures");
}

Json json_of(const Answer& answer) {
  Json json;
  JsonObject::put(json, answer);
  return json;
}

}  // namespace

// What the network reads of a picture, and how it came to be.
struct PicturePage::NetworkInput {
  Answer answer;
  std::vector<float> input;  // empty: there is nothing to read
  Json stages = Json::array();
  std::vector<std::string> steps;
};

PicturePage::PicturePage(const Session& session, const PictureOptions& options)
    : session_(session),
      options_(options),
      choices_(picture_choices(options, session.network())),
      layout_(layout_of(options, session.network())),
      channels_(shown_channels(session.graph())),
      model_(session.model(session.build_options(1))) {
  session.check_plan_writes_logits();
}

BuildOptions PicturePage::build(const std::string& backends, int64_t batch, bool fuse) const {
  BuildOptions build = session_.build_options(batch);
  if (build.execution == Plan::kFused) build.backends = BackendSpec();  // of the whole network
  if (const Plan* const plan = std::exchange(build.plan, nullptr); plan && plan->execution == Plan::kLayered)
    for (const PlanLayer& layer : plan->layers)
      if (layer.fused_into.empty()) build.backends.set(layer.name, layer.backend);
  for (const std::string& part : split(backends, ",")) {
    if (part.empty()) continue;
    const size_t equals = part.rfind('=');
    if (equals == std::string::npos)
      throw DataError(concat("backends are LAYER=NAME,…; found '", printable_excerpt(part, 60), "'"));
    build.backends.set(part.substr(0, equals), part.substr(equals + 1));
  }
  build.execution = Plan::kLayered;
  build.input = build.output = ElementType::kFp32;
  build.cuda_graph = build.mapped_io = false;
  build.fuse = fuse;
  build.keep_activations = !fuse;
  return build;
}

Json PicturePage::network() const {
  const Graph& graph = session_.graph();
  Json json = {{"title", session_.network().title()},
               {"weights", session_.weights_origin()},
               {"device", describe_device(session_.device(), "")},
               {"math", to_string(session_.math())},
               {"version", program_version()},
               {"digits", reads_digits(options_, session_.network())},
               {"labels", choices_.labels},
               {"nodes", nodes_json(graph)}};
  BuildOptions build = this->build("", 1, true);
  build.backends = BackendSpec();
  std::map<std::string, Json> menus;
  for (const TuneCandidate& candidate : tune_candidates(graph, build)) {
    if (candidate.nodes.size() > 1) continue;
    const bool refused = candidate.status == row_status::kUnsupported;
    menus[graph.nodes()[candidate.nodes[0]].name].push_back(
        {{"name", candidate.backend}, {"reason", refused ? Json(candidate.reason) : Json(nullptr)}});
  }
  for (Json& node : json["nodes"]) node["backends"] = menus[node["name"].get<std::string>()];
  return json;
}

PicturePage::NetworkInput PicturePage::read_number_input(const Picture& picture, const std::string& name,
                                                         int64_t digit) {
  constexpr int kSide = DigitImage::kSide;
  NetworkInput result;
  Picture ink;
  const Reading reading = std::move(read_numbers(model_, {prepare_number(picture, kMaxSide, ink)}).front());
  DigitInput input;
  input.file = name;
  result.answer = answer_from(input, reading);
  result.steps = reading.steps;
  const auto as_it_is = concat(picture.width, " × ", picture.height, " pixels");
  result.stages.push_back(stage("picture", as_it_is, scaled(picture, kMaxSide)));
  if (reading.digits.empty()) return result;
  if (!ink.pixels.empty()) result.stages.push_back(stage("ink", "the paper removed", ink));
  const auto last = static_cast<int64_t>(reading.digits.size()) - 1;
  const auto which = static_cast<size_t>(std::clamp<int64_t>(digit, 0, last));
  const DigitImage& read = reading.digits[which].input;
  const Picture placed{kSide, kSide, 1, {read.pixels.begin(), read.pixels.end()}, "PNG"};
  result.stages.push_back(stage("digit", "20 pixels high, centred in 28 × 28", placed));
  result.input.resize(read.pixels.size());
  session_.graph().normalisation().apply(read.pixels.data(), kSide * kSide, result.input.data());
  return result;
}

PicturePage::NetworkInput PicturePage::read_other_input(const Picture& picture, const std::string& name) {
  NetworkInput result;
  const std::vector<uint8_t> pixels = picture_input(picture, layout_, options_.fit);
  result.input.resize(pixels.size());
  choices_.normalise(pixels, result.input.data());
  std::vector<float> logits(static_cast<size_t>(session_.graph().output_shape().num_elements()));
  model_.run(result.input.data(), 1, logits.data());
  if (writes_probabilities(session_.graph())) make_logits(logits.data(), static_cast<int64_t>(logits.size()));
  DigitInput input;
  input.file = name;
  result.answer = answer_from(input, logits, choices_.labels);
  result.stages.push_back(
      stage("picture", concat(picture.width, " × ", picture.height, " pixels"), scaled(picture, kMaxSide)));
  result.stages.push_back(stage("input", concat("scaled to ", layout_.width, " × ", layout_.height),
                                sample_picture(pixels, layout_)));
  return result;
}

Executable& PicturePage::pass(const std::string& backends) {
  const auto known = passes_.find(backends);
  if (known != passes_.end()) return *known->second;
  if (passes_.size() >= kMaxPasses) passes_.clear();
  auto made = std::make_unique<Executable>(session_.graph(), build(backends, 1, false));
  return *passes_.emplace(backends, std::move(made)).first->second;
}

void PicturePage::add_values(const std::vector<float>& input, const std::string& backends, Json& look) {
  const DeviceGuard guard(session_.device());
  Executable& executable = pass(backends);
  Stream& stream = executable.stream();
  copy_bytes(executable.input().data, executable.device(), input.data(), Device::cpu(),
             input.size() * sizeof(float), stream);
  executable.run_first_checked();
  const Graph& graph = executable.graph();
  Json values = Json::array(), names = Json::object();
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    ConstTensorView view =
        node.layer ? executable.activation(node.name) : ConstTensorView(executable.input());
    view.shape = {channels_[i] * channel_values(view.shape)};
    const std::vector<float> shown = host_values(view, stream);
    values.push_back(base64(shown.data(), shown.size() * sizeof(float)));
  }
  for (const Executable::Step& step : executable.steps())
    names[step.name] = step.detail.empty() ? step.backend : concat(step.backend, " (", step.detail, ")");
  std::vector<float> logits = host_values(executable.output(), stream);
  if (writes_probabilities(graph)) make_logits(logits.data(), static_cast<int64_t>(logits.size()));
  std::vector<double> probabilities(logits.size());
  softmax(logits.data(), static_cast<int>(logits.size()), probabilities.data());
  look["values"] = std::move(values);
  look["ran"] = std::move(names);
  if (logits.size() <= kMaxClasses) look["probabilities"] = probabilities;
  // The model of the other commands computes with the session's own plan: another order of sums.
  std::vector<float> own(logits.size());
  model_.run(input.data(), 1, own.data());
  if (writes_probabilities(graph)) make_logits(own.data(), static_cast<int64_t>(own.size()));
  double difference = 0;
  for (size_t i = 0; i < own.size() && !std::isnan(difference); ++i) {
    const double apart = std::fabs(double{own[i]} - double{logits[i]});
    if (!(apart <= difference)) difference = apart;  // NaN too
  }
  look["difference_to_model"] = difference;
}

Json PicturePage::look(const std::vector<uint8_t>& picture, const std::string& name,
                       const std::string& backends, int64_t digit) {
  return look(decode_picture(picture, printable_excerpt(name, 100), options_.picture_limits), name, backends,
              digit);
}

Json PicturePage::look(const Picture& picture, const std::string& name, const std::string& backends,
                       int64_t digit) {
  const NetworkInput result = reads_digits(options_, session_.network())
                                  ? read_number_input(picture, name, digit)
                                  : read_other_input(picture, name);
  Json look = {{"answer", json_of(result.answer)},
               {"stages", result.stages},
               {"steps", result.steps},
               {"width", picture.width},
               {"height", picture.height},
               {"backends", backends},
               {"values", nullptr},
               {"probabilities", nullptr}};
  if (result.input.empty()) return look;
  of_request([&] { add_values(result.input, backends, look); });
  return look;
}

}  // namespace lenslet
