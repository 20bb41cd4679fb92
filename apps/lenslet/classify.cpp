// lenslet classify: reads the digit in each picture.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "apps/common/document.h"
#include "apps/common/output.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/digit_inputs.h"
#include "apps/lenslet/session.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.classify/1";
constexpr int64_t kDefaultBatch = 64;
constexpr size_t kTop = 3;
constexpr size_t kPixels = kLenet5Side * kLenet5Side;

struct Guess {
  int digit = 0;
  double probability = 0;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("digit", self.digit)("probability", self.probability);
  }
};

struct Answer {
  std::array<Guess, kTop> top;  // most likely first
  bool finite = true;           // false if a logit is not a number
};

Answer answer_from(const float* logits) {
  Answer answer;
  double probabilities[kLenet5Classes];
  softmax(logits, kLenet5Classes, probabilities);
  std::array<int, kLenet5Classes> order{};
  for (int i = 0; i < kLenet5Classes; ++i) order[static_cast<size_t>(i)] = i;
  answer.finite =
      std::all_of(logits, logits + kLenet5Classes, [](float value) { return std::isfinite(value); });
  if (answer.finite) {
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
  }
  for (size_t i = 0; i < kTop; ++i) answer.top[i] = {order[i], probabilities[order[i]]};
  return answer;
}

std::vector<Answer> answers_to(Model& model, const std::vector<DigitInput>& inputs) {
  std::vector<uint8_t> pixels(inputs.size() * kPixels);
  std::vector<float> logits(inputs.size() * kLenet5Classes);
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(pixels.data() + i * kPixels, inputs[i].digit.pixels.data(), kPixels);
  model.logits(pixels.data(), static_cast<int64_t>(inputs.size()), logits.data());
  std::vector<Answer> answers;
  for (size_t i = 0; i < inputs.size(); ++i) answers.push_back(answer_from(&logits[i * kLenet5Classes]));
  return answers;
}

std::string label_of(const DigitInput& input) {
  return input.index < 0 ? input.file : concat(input.file, "[", input.index, "]");
}

std::string text_line(const DigitInput& input, const Answer& answer) {
  std::string line = printable(label_of(input)) + ": ";
  if (input.digit.blank) return line + "blank (no ink found)";
  if (!answer.finite) return line + "the model's output is not a number";
  line += concat(answer.top[0].digit, "  ", format_percent(answer.top[0].probability));
  line += concat("   then ", answer.top[1].digit, " ", format_percent(answer.top[1].probability), ", ",
                 answer.top[2].digit, " ", format_percent(answer.top[2].probability));
  for (const std::string& warning : input.digit.warnings) line += "   warning: " + printable(warning);
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
  text += "  what the model sees:\n" +
          picture_as_text(input.digit.pixels.data(), DigitImage::kSide, DigitImage::kSide);
  return text;
}

/// What an output file contains about one picture.
struct ClassifiedRow {
  const DigitInput& input;
  const Answer& answer;
  bool explain = false;

  bool known() const { return input.error.empty() && !input.digit.blank && answer.finite; }

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const DigitInput& input = self.input;
    v("file", input.file);
    if (input.index >= 0) v("index", input.index);
    if (!input.error.empty()) {
      v("error", input.error);
      return;
    }
    std::vector<Guess> top;
    if (self.known()) top.assign(self.answer.top.begin(), self.answer.top.end());
    v("digit", top.empty() ? std::nullopt : std::optional<int>(top[0].digit));
    v("probability", top.empty() ? NAN : top[0].probability);
    if (top.empty())
      v("reason", input.digit.blank ? "blank: no ink found" : "the model's output is not a number");
    v("top", top);
    v("blank", input.digit.blank);
    v("warnings", input.digit.warnings);
    if (self.explain) v("steps", input.digit.steps);
  }
};

// The machine-readable outputs, written as answers arrive.
class Files {
 public:
  explicit Files(const ClassifyOptions& options, const Session& session) {
    if (!options.csv.empty()) {
      csv_.emplace(options.csv);
      csv_->write(
          "file,index,digit,probability,second,second_probability,third,third_probability,blank,error\n");
    }
    if (!options.json.empty()) {
      json_sink_.emplace(options.json);
      json_.emplace([this](const std::string& part) { json_sink_->write(part); }, kSchema,
                    this_environment("lenslet classify", session.device().is_cuda()));
      json_->members()("device", session.device())("weights", session.weights_origin());
      json_->begin_list("results");
    }
  }

  void add(const DigitInput& input, const Answer& answer, bool explain) {
    const ClassifiedRow row{input, answer, explain};
    if (json_) json_->entry(row);
    if (csv_) add_csv(row);
  }

  /// `fault`: how the device failed; empty if it did not.
  void finish(int64_t failures, bool was_interrupted, const std::string& fault) {
    if (json_) {
      json_->end_list();
      json_->members()("failures", failures);
      json_->status(was_interrupted, fault);
      json_->finish();
      json_sink_->commit();
    }
    if (csv_) csv_->commit();
  }

 private:
  void add_csv(const ClassifiedRow& row) {
    const DigitInput& input = row.input;
    std::string line = csv_field(input.file) + "," + (input.index < 0 ? "" : std::to_string(input.index));
    for (const Guess& guess : row.answer.top) {
      line +=
          row.known() ? concat(",", guess.digit, ",", format_fixed(guess.probability, 6)) : std::string(",,");
    }
    csv_->write(line + (input.digit.blank ? ",1," : ",0,") + csv_field(input.error) + "\n");
  }

  std::optional<OutputFile> csv_, json_sink_;
  std::optional<Document> json_;
};

}  // namespace

ExitCode run_classify(const ClassifyOptions& options) {
  std::vector<NamedFile> read = files_read(options);
  if (!options.json.empty() || !options.csv.empty() || !options.save_plan.empty()) {
    for (std::string& file : pictures_named(options.inputs)) read.emplace_back("a picture", std::move(file));
  }
  Console console({{"--json", options.json}, {"--csv", options.csv}, {"--save-plan", options.save_plan}},
                  read);
  DigitInputs inputs(options, options.explain);
  Session session(options);
  session.demand_logits();
  const int64_t batch = session.batch_or(inputs.single() ? 1 : kDefaultBatch);
  Model model = session.model(batch);
  Files files(options, session);
  if (options.explain) {
    console.line(concat("on ", session.describe_device(), ", ", printable(session.weights_origin()), ": ",
                        describe_backends(model.executable().plan())));
  }

  int64_t failures = 0, not_numbers = 0;
  std::string fault;
  while (!interrupted()) {
    const std::vector<DigitInput> group = inputs.next(static_cast<size_t>(batch));
    if (group.empty()) break;
    std::vector<Answer> answers;
    try {
      answers = answers_to(model, group);
    } catch (const DeviceError& error) {
      fault = error.what();  // the earlier answers are still written
      break;
    }
    std::string text;
    for (size_t i = 0; i < group.size(); ++i) {
      files.add(group[i], answers[i], options.explain);
      if (!group[i].error.empty()) {
        ++failures;
        write_standard_error("lenslet: error: " + printable_line(group[i].error) + "\n");
        continue;
      }
      if (!group[i].digit.blank && !answers[i].finite) ++not_numbers;
      text += text_line(group[i], answers[i]) + "\n";
      if (options.explain) text += explanation(group[i]);
    }
    console.print(text);
  }
  files.finish(failures, interrupted(), fault);
  if (!fault.empty()) throw DeviceError(fault);
  if (interrupted()) return ExitCode::kInterrupted;
  if (failures > 0) return ExitCode::kData;
  return not_numbers > 0 ? ExitCode::kCheckFailed : ExitCode::kOk;
}

}  // namespace lenslet
