// The output of `classify` for one picture: a line for people, a row of the result files.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/number_reader.h"
#include "apps/common/fields/fields.h"
#include "apps/lenslet/pictures/digit_inputs.h"

namespace lenslet {

template <>
struct Fields<Guess> {
  template <class Self, class V>
  static void of(Self& guess, V&& v) {
    v("digit", guess.digit)("probability", guess.probability)("label", guess.label);
  }
};

/// A digit of a number, or a mark that is refused.
struct DigitRow {
  std::optional<int> digit;
  double probability = NAN, energy = NAN;
  int x = 0, y = 0, width = 0, height = 0;  // its box in the picture, pixels
  std::string refusal, reason;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("digit", self.digit)("probability", self.probability)("energy", self.energy);
    v("x", self.x)("y", self.y)("width", self.width)("height", self.height);
    v("refusal", self.refusal)("reason", self.reason);
  }
};

/// What the lines and the files have about one picture.
struct Answer {
  std::string file;
  std::optional<int64_t> index;  // in an IDX file
  std::string error;             // why it could not be read; nothing else is then known
  std::string reason;            // why it has no digit and no number
  std::string refusal;           // the same as one word
  std::string number;            // all digits, from left to right
  std::vector<Guess> top;        // of a single digit, most likely first; none where it was not computed
  std::vector<DigitRow> digits;  // from left to right
  double probability = NAN;      // of the whole number
  double energy = NAN;           // of a single digit; compared with the threshold of the weights
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
    v("digit", digit(0))("probability", self.probability);
    v.column("second", digit(1)).column("second_probability", probability(1));
    v.column("third", digit(2)).column("third_probability", probability(2));
    v("blank", self.blank)("error", self.error)("reason", self.reason);
    v("energy", self.energy)("top", self.top)("warnings", self.warnings)("steps", self.steps);
    v("number", self.number)("refusal", self.refusal)("digits", self.digits);
  }
};

/// The answer to a picture of digits.
Answer answer_from(const DigitInput& input, const Reading& reading);
/// The answer of any other classifier, from the logits of its classes and their names, if there are any.
Answer answer_from(const DigitInput& input, const std::vector<float>& logits,
                   const std::vector<std::string>& labels);

/// "seven.png: 7  99.98 %   then 1 0.01 %, 9 0.01 %", with the warnings.
std::string text_line(const Answer& answer);

}  // namespace lenslet
