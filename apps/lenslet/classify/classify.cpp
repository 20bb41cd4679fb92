// lenslet classify: reads the digit in each picture.
#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/common/output/text.h"
#include "apps/lenslet/classify/digit_inputs.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/session.h"
#include "apps/measuring/run.h"
#include "models/classifier.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.classify/1";
constexpr int64_t kDefaultBatch = 64;
constexpr size_t kTop = 3;

struct Guess {
  int digit = 0;
  double probability = 0;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("digit", self.digit)("probability", self.probability);
  }
};

/// What the lines and the files have about one picture.
struct Answer {
  std::string file;
  std::optional<int64_t> index;  // in an IDX file
  std::string error;             // why it could not be read; nothing else is then known
  std::string reason;            // why it has no digit
  std::vector<Guess> top;        // most likely first; none where it was not computed
  double energy = NAN;           // compared with the threshold of the weights
  bool blank = false;
  std::vector<std::string> warnings, steps;  // steps: with --explain

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const size_t known = self.reason.empty() ? self.top.size() : 0;
    const auto digit = [&](size_t i) {
      return i < known ? std::optional<int>(self.top[i].digit) : std::nullopt;
    };
    const auto probability = [&](size_t i) { return i < known ? self.top[i].probability : NAN; };
    v("file", self.file)("index", self.index);
    v("digit", digit(0))("probability", probability(0));
    v.column("second", digit(1)).column("second_probability", probability(1));
    v.column("third", digit(2)).column("third_probability", probability(2));
    v("blank", self.blank)("error", self.error)("reason", self.reason);
    v("energy", self.energy)("top", self.top)("warnings", self.warnings)("steps", self.steps);
  }
};

Answer answer_from(const DigitInput& input, const std::vector<float>& logits,
                   std::optional<double> threshold) {
  Answer answer;
  answer.file = input.file;
  if (input.index >= 0) answer.index = input.index;
  answer.error = input.error;
  if (!input.error.empty()) return answer;
  answer.blank = input.digit.blank;
  answer.warnings = input.digit.warnings;
  if (answer.blank) {
    answer.reason = "blank: no ink found";
  } else if (!std::all_of(logits.begin(), logits.end(), [](float value) { return std::isfinite(value); })) {
    answer.reason = "the model's output is not a number";
  } else {
    const auto classes = static_cast<int>(logits.size());
    std::vector<double> probabilities(logits.size());
    softmax(logits.data(), classes, probabilities.data());
    for (int i = 0; i < classes; ++i) answer.top.push_back({i, probabilities[static_cast<size_t>(i)]});
    const auto logit = [&](const Guess& guess) { return logits[static_cast<size_t>(guess.digit)]; };
    std::stable_sort(answer.top.begin(), answer.top.end(),
                     [&](const Guess& a, const Guess& b) { return logit(a) > logit(b); });
    answer.top.resize(std::min(kTop, answer.top.size()));
    answer.energy = energy(logits.data(), classes);
    if (threshold && !(answer.energy > *threshold)) {
      answer.reason = concat("no digit: ", answer.top[0].digit, " is the nearest, ",
                             format_percent(answer.top[0].probability));
    }
  }
  return answer;
}

std::vector<Answer> answers_to(Model& model, const Network& network, const std::vector<DigitInput>& inputs) {
  const auto values = static_cast<size_t>(model.input_shape().num_elements());
  const auto classes = static_cast<size_t>(model.output_shape().num_elements());
  std::vector<uint8_t> pixels(inputs.size() * values);  // zeros for a picture that could not be read
  std::vector<float> logits(inputs.size() * classes);
  for (size_t i = 0; i < inputs.size(); ++i)
    std::copy(inputs[i].pixels.begin(), inputs[i].pixels.end(), pixels.data() + i * values);
  model.run(pixels.data(), static_cast<int64_t>(inputs.size()), logits.data());
  if (writes_probabilities(network.graph)) make_logits(logits.data(), static_cast<int64_t>(logits.size()));
  std::vector<Answer> answers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float* const first = logits.data() + i * classes;
    answers.push_back(answer_from(inputs[i], {first, first + classes}, network.energy_threshold));
  }
  return answers;
}

std::string text_line(const Answer& answer) {
  std::string line =
      printable(answer.index ? concat(answer.file, "[", *answer.index, "]") : answer.file) + ": ";
  if (!answer.reason.empty()) {
    line += answer.reason;
  } else {
    line += concat(answer.top[0].digit, "  ", format_percent(answer.top[0].probability));
    for (size_t i = 1; i < answer.top.size(); ++i) {
      line += concat(i == 1 ? "   then " : ", ", answer.top[i].digit, " ",
                     format_percent(answer.top[i].probability));
    }
  }
  if (answer.top.empty()) return line;
  for (const std::string& warning : answer.warnings) line += "   warning: " + printable(warning);
  return line;
}

// A picture as grey bytes, for display.
std::vector<uint8_t> grey_of(const Image& image) {
  std::vector<uint8_t> grey(static_cast<size_t>(image.width) * static_cast<size_t>(image.height));
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < grey.size(); ++i) {
    const uint8_t* pixel = image.pixels.data() + i * channels;
    const unsigned value =
        channels >= 3 ? (299u * pixel[0] + 587u * pixel[1] + 114u * pixel[2]) / 1000 : pixel[0];
    const unsigned alpha = channels == 2 || channels == 4 ? pixel[channels - 1] : 255;
    grey[i] = static_cast<uint8_t>((value * alpha + 255 * (255 - alpha)) / 255);
  }
  return grey;
}

std::string explanation(const DigitInput& input) {
  std::string text;
  if (!input.original.pixels.empty()) {
    const Image& image = input.original;
    text += "  the picture:\n" + picture_as_text(grey_of(image).data(), image.width, image.height);
  }
  for (const std::string& step : input.digit.steps) text += "  - " + printable(step) + "\n";
  if (input.pixels.size() == input.digit.pixels.size())
    text += "  what the model sees:\n" +
            picture_as_text(input.pixels.data(), DigitImage::kSide, DigitImage::kSide);
  return text;
}

}  // namespace

ExitCode run_classify(const ClassifyOptions& given) {
  ClassifyOptions options = given;
  if (options.weights_file().empty()) options.weights = kRobustWeights;
  std::vector<NamedFile> read = files_read(options);
  if (!options.json.empty() || !options.csv.empty() || !options.save_plan.empty()) {
    for (std::string& file : pictures_named(options.inputs)) read.emplace_back("a picture", std::move(file));
  }
  Run run("lenslet classify", options, {{"--save-plan", options.save_plan}}, read);
  DigitInputs inputs(options, options.explain);
  Session session(options);
  session.demand_logits();
  inputs.prepare_for(session.network());
  const int64_t batch = session.batch_or(inputs.single() ? 1 : kDefaultBatch);
  Model model = session.model(batch);
  run.on(session.device());
  RowFiles files = run.row_files<Answer>(kSchema, "results", [&](JsonObject& json) {
    json("device", session.device())("weights", session.weights_origin());
  });
  if (options.explain) {
    run.console().line(concat("on ", session.describe_device(), ", ", printable(session.weights_origin()),
                              ": ", describe_backends(model.executable().plan())));
  }

  int64_t failures = 0, not_numbers = 0;
  while (!run.stopped()) {
    const std::vector<DigitInput> group = inputs.next(static_cast<size_t>(batch));
    std::vector<Answer> answers;
    run.guard(
        [&] { answers = answers_to(model, session.network(), group); });  // earlier answers are still written
    if (answers.empty()) break;
    std::string text;
    for (size_t i = 0; i < group.size(); ++i) {
      Answer& answer = answers[i];
      if (options.explain) answer.steps = group[i].digit.steps;
      files.add(answer);
      if (!answer.error.empty()) {
        ++failures;
        write_standard_error("lenslet: error: " + printable_line(answer.error) + "\n");
        continue;
      }
      if (!answer.blank && answer.top.empty()) ++not_numbers;
      text += text_line(answer) + "\n";
      if (options.explain) text += explanation(group[i]);
    }
    run.console().print(text);
  }
  files.finish(run.stopped(), run.fault(), [&](JsonObject& json) { json("failures", failures); });
  return run.end(failures > 0 ? ExitCode::kData : not_numbers > 0 ? ExitCode::kCheckFailed : ExitCode::kOk);
}

}  // namespace lenslet
