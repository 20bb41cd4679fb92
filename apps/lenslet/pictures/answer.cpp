#include "apps/lenslet/pictures/answer.h"

#include "apps/common/output/text.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

Answer answer_about(const DigitInput& input) {
  Answer answer;
  answer.file = input.file;
  if (input.index >= 0) answer.index = input.index;
  answer.error = input.error;
  return answer;
}

DigitRow row_of(const ReadDigit& read) {
  DigitRow row;
  if (read.refusal == Refusal::kNone) {
    row.digit = read.top[0].digit;
    row.probability = read.top[0].probability;
  }
  row.energy = read.energy;
  row.x = read.box.x0;
  row.y = read.box.y0;
  row.width = read.box.width();
  row.height = read.box.height();
  row.refusal = refusal_name(read.refusal);
  row.reason = read.reason;
  return row;
}

}  // namespace

Answer answer_from(const DigitInput& input, const Reading& reading) {
  Answer answer = answer_about(input);
  if (!answer.error.empty()) return answer;
  answer.blank = reading.blank();
  answer.warnings = reading.warnings.texts;
  answer.reason = reading.reason;
  answer.refusal = refusal_name(reading.refusal);
  answer.number = reading.number;
  answer.probability = reading.probability;
  for (const ReadDigit& read : reading.digits) answer.digits.push_back(row_of(read));
  if (reading.digits.size() == 1) {
    answer.top = reading.digits[0].top;
    answer.energy = reading.digits[0].energy;
  }
  return answer;
}

Answer answer_from(const DigitInput& input, const std::vector<float>& logits,
                   const std::vector<std::string>& labels) {
  Answer answer = answer_about(input);
  if (!answer.error.empty()) return answer;
  const auto classes = static_cast<int>(logits.size());
  answer.top = ranked(logits.data(), classes, ReadDigit::kTop);
  if (answer.top.empty()) {
    answer.refusal = refusal_name(Refusal::kNotFinite);
    answer.reason = kNotFiniteReason;
    return answer;
  }
  for (Guess& guess : answer.top)
    if (!labels.empty()) guess.label = labels[static_cast<size_t>(guess.digit)];
  answer.probability = answer.top[0].probability;
  answer.energy = energy(logits.data(), classes);
  return answer;
}

std::string text_line(const Answer& answer) {
  std::string line =
      printable(answer.index ? concat(answer.file, "[", *answer.index, "]") : answer.file) + ": ";
  const auto list = [&](const char* first, const std::string& name, double probability) {
    line += concat(first, name, " ", format_percent(probability));
  };
  if (!answer.reason.empty()) {
    line += answer.reason;
  } else if (!answer.top.empty()) {
    line += concat(answer.top[0].name(), "  ", format_percent(answer.top[0].probability));
    for (size_t i = 1; i < answer.top.size(); ++i)
      list(i == 1 ? "   then " : ", ", answer.top[i].name(), answer.top[i].probability);
  } else {
    line += concat(answer.number, "  ", format_percent(answer.probability));
    for (size_t i = 0; i < answer.digits.size(); ++i)
      list(i == 0 ? "   " : ", ", std::to_string(*answer.digits[i].digit), answer.digits[i].probability);
  }
  if (answer.top.empty() && answer.digits.empty()) return line;
  for (const std::string& warning : answer.warnings) line += "   warning: " + printable(warning);
  return line;
}

}  // namespace lenslet
