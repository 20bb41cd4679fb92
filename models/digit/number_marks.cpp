#include "models/digit/number_marks.h"

#include <algorithm>
#include <utility>

#include "models/digit/number_of_ink.h"
#include "models/lenet5_sizes.h"

namespace lenslet {

const char* refusal_name(Refusal refusal) {
  constexpr const char* kNames[] = {"",        "blank", "no_digit",  "too_small", "touching",
                                    "texture", "rows",  "no_number", "not_finite"};
  return kNames[static_cast<int>(refusal)];
}

NumberMarks number_of(const uint8_t* pixels) {
  constexpr int kSide = DigitImage::kSide;
  NumberMarks number;
  if (std::all_of(pixels, pixels + kLenet5Pixels, [&](uint8_t value) { return value == pixels[0]; })) {
    refuse(number, Refusal::kBlank, kNoInk);
    return number;
  }
  DigitMark mark;
  mark.box = {0, 0, kSide, kSide};
  std::copy(pixels, pixels + kLenet5Pixels, mark.digit.pixels.begin());
  mark.digit.untouched = true;
  number.marks.push_back(std::move(mark));
  return number;
}

NumberMarks prepare_number(const Picture& picture) {
  if (!has_digits_form(picture)) return number_of_ink(picture, find_ink(picture));
  NumberMarks number;
  DigitMark mark;
  mark.box = {0, 0, DigitImage::kSide, DigitImage::kSide};
  mark.digit = prepare_digit(picture);
  if (mark.digit.blank) return number_of_ink(picture, find_ink(picture));
  number.steps = std::exchange(mark.digit.steps, {});
  number.warnings = std::exchange(mark.digit.warnings, {});
  number.marks.push_back(std::move(mark));
  return number;
}

}  // namespace lenslet
