// lenslet classify: reads the number in each picture.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/number_reader.h"
#include "apps/common/output/error_line.h"
#include "apps/common/output/text.h"
#include "apps/common/program/run.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/pictures/answer.h"
#include "apps/lenslet/pictures/digit_inputs.h"
#include "apps/lenslet/pictures/picture_choices.h"
#include "apps/lenslet/session/session.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/classifier.h"
#include "models/digit/picture_input.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.classify/1";
// Pictures come from files: reading one takes longer than its share of a pass, on a GPU too, so a larger batch gains
// little and delays the first answer. Chosen by hand.
constexpr int64_t kDefaultBatch = 64;

// The answers to pictures of digits. Moves each input's `number` out of `inputs`.
std::vector<Reading> readings_of(Model& model, std::vector<DigitInput>& inputs) {
  std::vector<NumberMarks> numbers;
  numbers.reserve(inputs.size());
  for (DigitInput& input : inputs) numbers.push_back(std::move(input.number));
  return read_numbers(model, numbers);
}

// The answers of a network that reads something else.
std::vector<Answer> answers_of(Model& model, const Network& network, const PictureChoices& choices,
                               const std::vector<DigitInput>& inputs) {
  const auto values = static_cast<size_t>(model.input_shape().num_elements());
  const auto classes = static_cast<size_t>(model.output_shape().num_elements());
  std::vector<float> pixels(inputs.size() * values);  // zeros for a picture that could not be read
  std::vector<float> logits(inputs.size() * classes);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].pixels.empty()) choices.normalise(inputs[i].pixels, pixels.data() + i * values);
  model.run(pixels.data(), static_cast<int64_t>(inputs.size()), logits.data());
  if (writes_probabilities(network.graph)) make_logits(logits.data(), static_cast<int64_t>(logits.size()));
  std::vector<Answer> answers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float* const first = logits.data() + i * classes;
    answers.push_back(answer_from(inputs[i], {first, first + classes}, choices.labels));
  }
  return answers;
}

// Whether the model's output for the picture, or for one of its marks, is not a number.
bool is_not_finite(const Answer& answer) {
  const std::string name = refusal_name(Refusal::kNotFinite);
  return answer.refusal == name || std::any_of(answer.digits.begin(), answer.digits.end(),
                                               [&](const DigitRow& digit) { return digit.refusal == name; });
}

// A picture as grey bytes over white, for display.
std::vector<uint8_t> grey_of(const Picture& picture) {
  std::vector<uint8_t> grey(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height));
  for (size_t i = 0; i < grey.size(); ++i) {
    const uint8_t* const pixel = picture.pixels.data() + i * static_cast<size_t>(picture.channels);
    grey[i] = static_cast<uint8_t>(std::lround(grey_over_white(pixel, picture.channels)));
  }
  return grey;
}

std::string explanation(const DigitInput& input, const Reading* reading) {
  std::string text;
  if (!input.original.pixels.empty()) {
    const Picture& picture = input.original;
    text += "  the picture:\n" + picture_as_text(grey_of(picture).data(), picture.width, picture.height);
  }
  for (const std::string& step : reading ? reading->steps : input.steps)
    text += "  - " + printable(step) + "\n";
  if (!reading) return text;
  const auto show = [&](const std::string& where, const DigitImage& digit) {
    text += "  the model's input" + where + ":\n" +
            picture_as_text(digit.pixels.data(), DigitImage::kSide, DigitImage::kSide);
  };
  if (reading->digits.empty()) show("", {});
  for (const ReadDigit& digit : reading->digits) {
    const Box& box = digit.box;
    show(reading->digits.size() == 1
             ? ""
             : concat(" in the ", box.width(), "x", box.height(), " pixels at ", box.x0, ", ", box.y0),
         digit.input);
  }
  return text;
}

}  // namespace

ExitCode run_classify(const ClassifyOptions& given) {
  ClassifyOptions options = given;
  if (options.weights_file().empty()) options.weights = kRobustWeights;
  std::vector<NamedFile> read = files_read(options);
  if (!options.labels.empty()) read.emplace_back("--labels", options.labels);
  if (!options.json.empty() || !options.csv.empty() || !options.save_plan.empty()) {
    for (std::string& file : pictures_named(options.inputs)) read.emplace_back("a picture", std::move(file));
  }
  Run run("lenslet classify", options, {{"--save-plan", options.save_plan}}, read);
  DigitInputs inputs(options, options.explain);
  Session session(options, run.console(), chosen_normalisation(options));
  session.check_plan_writes_logits();
  inputs.prepare_for(session.network());
  const PictureChoices choices = picture_choices(options, session.network());
  const int64_t batch = session.batch_or(inputs.single() ? 1 : kDefaultBatch);
  Model model = session.model(batch);
  run.on(session.device());
  RowFiles files = run.row_files<Answer>(kSchema, "results", [&](JsonObject& json) {
    json("device", session.device_list())("weights", session.weights_origin());
  });
  if (options.explain) {
    run.console().line(concat("on ", session.describe_device(), ", ", printable(session.weights_origin()),
                              ": ", describe_backends(model.executable().plan())),
                       4);
  }

  const bool digits = reads_digits(options, session.network());
  const size_t max_group = static_cast<size_t>(batch) * session.devices().size();
  int64_t failures = 0, not_numbers = 0;
  while (!run.stopped()) {
    std::vector<DigitInput> group;
    std::vector<Reading> readings;
    std::vector<Answer> answers;
    run.guard([&] {  // earlier answers are still written, also if a signal ends the reading of a file
      group = inputs.next(max_group);
      if (digits) {
        readings = readings_of(model, group);
        for (size_t i = 0; i < group.size(); ++i) answers.push_back(answer_from(group[i], readings[i]));
      } else {
        answers = answers_of(model, session.network(), choices, group);
      }
    });
    if (answers.empty()) break;
    std::string text;
    for (size_t i = 0; i < group.size(); ++i) {
      Answer& answer = answers[i];
      if (options.explain) answer.steps = digits ? readings[i].steps : group[i].steps;
      files.add(answer);
      if (!answer.error.empty()) {
        ++failures;
        write_error_line("lenslet", {answer.error});
        continue;
      }
      if (is_not_finite(answer)) ++not_numbers;
      text += text_line(answer) + "\n";
      if (options.explain) text += explanation(group[i], digits ? &readings[i] : nullptr);
    }
    run.console().print(text);
  }
  const std::vector<DeviceShare> shares = model.shares();
  report_faults(shares);
  files.finish(run.stopped(), run.fault(),
               [&](JsonObject& json) { json("failures", failures)("shares", shares); });
  return run.end(failures > 0 ? ExitCode::kData : not_numbers > 0 ? ExitCode::kCheckFailed : ExitCode::kOk);
}

}  // namespace lenslet
