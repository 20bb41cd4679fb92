#include "api/number_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/base/error.h"
#include "models/lenet5_sizes.h"

namespace lenslet {
namespace {

// These four were chosen by hand, on single training digits of MNIST and on pairs of them that touch. In tests/models
// Numbers.AreCutWhereDigitsTouchWithAWarning and Numbers.OfAWideDigitComeWithoutAWarning hold them.

// A mark with a larger ratio of width to height is never a single digit.
constexpr double kTooWide = 1.6;
// A refused mark with a larger ratio is reported as touching digits; any other as no digit.
constexpr double kSeveral = 1.2;
// Energy by which the worst part of a cut must exceed the whole mark, since halves of a wide 0 look like digits too.
constexpr double kBetterCut = 1.5;
// Energy above the threshold that every part of a cut needs, since parts of letters look like digits too. A wide mark
// below it may be several digits.
constexpr double kSure = 1.5;
// A digit of a smaller probability gets a warning with the next.
constexpr double kCertain = 0.6;

// "-4.07"
std::string hundredths(double value) {
  const long all = std::lround(std::abs(value) * 100), rest = all % 100;
  return concat(value < 0 && all > 0 ? "-" : "", all / 100, ".", rest < 10 ? "0" : "", rest);
}

std::string percent(double fraction) { return hundredths(fraction * 100) + " %"; }

// Calls `body` for every digit that the model must judge: each mark, then its cuts, then its retakes.
template <typename Body>
void for_each_digit(const std::vector<NumberMarks>& numbers, Body&& body) {
  for (const NumberMarks& number : numbers) {
    for (const DigitMark& mark : number.marks) {
      body(mark.digit);
      for (const std::vector<DigitMark>& way : mark.cuts) {
        for (const DigitMark& part : way) body(part.digit);
      }
      for (const DigitRetake& retake : mark.retakes) body(retake.digit);
    }
  }
}

// The model's answers, which next() returns in the order of for_each_digit().
class MarkAnswers {
 public:
  MarkAnswers(Model& model, const std::vector<NumberMarks>& numbers) : threshold_(model.energy_threshold()) {
    std::vector<uint8_t> pixels;
    for_each_digit(numbers, [&](const DigitImage& digit) {
      pixels.insert(pixels.end(), digit.pixels.begin(), digit.pixels.end());
    });
    const size_t count = pixels.size() / kLenet5Pixels;
    logits_.resize(count * kLenet5Classes);
    model.logits(pixels.data(), static_cast<int64_t>(count), logits_.data());
  }

  /// `margin`: energy above the threshold that a digit needs.
  ReadDigit next(const DigitMark& mark, double margin = 0) { return next(mark, mark.digit, margin); }
  /// The same for a retake of the mark.
  ReadDigit next(const DigitMark& mark, const DigitImage& digit, double margin) {
    const float* const logits = &logits_[kLenet5Classes * next_++];
    ReadDigit read;
    read.box = mark.box;
    read.input = digit;
    read.top = ranked(logits, kLenet5Classes, ReadDigit::kTop);
    if (read.top.empty()) {
      read.energy = std::numeric_limits<double>::quiet_NaN();
      read.refusal = Refusal::kNotFinite;
      read.reason = kNotFiniteReason;
      return read;
    }
    read.energy = energy(logits, kLenet5Classes);
    if (mark.small) {
      read.refusal = Refusal::kTooSmall;
      read.reason = concat("too small for a digit: ", mark.box.width(), "x", mark.box.height(), " pixels");
    } else if (!std::isnan(threshold_) && !(read.energy > threshold_ + margin)) {
      read.refusal = Refusal::kNoDigit;
      // The share is of the ten digits: 99 % means that the others are further away, not that this one is near.
      read.reason = concat("no digit: ", read.top[0].digit, " is the nearest, ",
                           percent(read.top[0].probability), ", but its energy ", hundredths(read.energy),
                           " is not above ", hundredths(threshold_ + margin));
    }
    return read;
  }

  /// Whether a digit is far from being refused. Without a threshold all are.
  bool sure(const ReadDigit& read) const { return !(read.energy <= threshold_ + kSure); }

 private:
  double threshold_;
  std::vector<float> logits_;  // [marks, 10]
  size_t next_ = 0;
};

// Adds a mark as one digit if the model reads one in it and it is not too wide. Otherwise adds the parts of the best
// cut, if the model reads a digit in each.
void add_mark(const DigitMark& mark, MarkAnswers& answers, Reading& reading) {
  std::vector<ReadDigit>& digits = reading.digits;
  ReadDigit whole = answers.next(mark);
  std::vector<ReadDigit> best;
  double highest = -std::numeric_limits<double>::infinity();
  for (const std::vector<DigitMark>& way : mark.cuts) {
    std::vector<ReadDigit> parts;
    parts.reserve(way.size());
    for (const DigitMark& part : way) parts.push_back(answers.next(part, kSure));
    if (!std::all_of(parts.begin(), parts.end(),
                     [](const ReadDigit& part) { return part.refusal == Refusal::kNone; }))
      continue;
    const double lowest =
        std::min_element(parts.begin(), parts.end(), [](const ReadDigit& a, const ReadDigit& b) {
          return a.energy < b.energy;
        })->energy;
    if (!(lowest > highest)) continue;
    highest = lowest;
    best = std::move(parts);
  }
  for (const DigitRetake& retake : mark.retakes) {
    ReadDigit read = answers.next(mark, retake.digit, kSure);
    if (whole.refusal != Refusal::kNoDigit || read.refusal != Refusal::kNone) continue;
    whole = std::move(read);
    reading.warnings.add(retake.code, retake.warning);
  }
  if (whole.refusal == Refusal::kNone && whole.top[0].digit == 1 && mark.slash != DigitMark::Slash::kNo) {
    if (mark.slash == DigitMark::Slash::kYes) {
      whole.refusal = Refusal::kNoDigit;
      whole.reason = "no digit: a stroke that leans further than the digits beside it";
    } else {
      reading.warnings.add(PictureWarning::kSlanted, "a slanted stroke was read as 1, but may be a slash");
    }
  }
  const bool too_wide = mark.box.width() > kTooWide * mark.box.height();
  // NaN without an energy; comparisons with it are false.
  const bool better_cut = too_wide || highest > whole.energy + kBetterCut;
  if (!mark.wide || (whole.refusal == Refusal::kNone && !better_cut)) {
    if (mark.wide && (highest > whole.energy - kBetterCut || !answers.sure(whole)))
      reading.warnings.add(PictureWarning::kTouching, concat("a wide mark was read as ", whole.top[0].digit,
                                                             ", but may be several digits that touch"));
    digits.push_back(std::move(whole));
  } else if (!best.empty()) {
    reading.warnings.add(PictureWarning::kTouching, "digits that touch were cut apart");
    for (ReadDigit& part : best) digits.push_back(std::move(part));
  } else {
    if (!whole.top.empty() &&
        (whole.refusal == Refusal::kNone || mark.box.width() > kSeveral * mark.box.height())) {
      whole.refusal = Refusal::kTouching;
      whole.reason = concat("touching digits, lines of the paper, or no digit: a mark of ", mark.box.width(),
                            "x", mark.box.height(), " pixels that no cut divides into digits");
    }
    digits.push_back(std::move(whole));
  }
}

void warn_of_uncertain_digits(Reading& reading) {
  for (size_t i = 0; i < reading.digits.size(); ++i) {
    const std::vector<ReadDigit::Guess>& top = reading.digits[i].top;
    if (!(top[0].probability < kCertain)) continue;
    const std::string which = reading.digits.size() == 1 ? "the digit" : concat("digit ", i + 1);
    reading.warnings.add(PictureWarning::kUncertain,
                         concat(which, " is uncertain: ", top[0].digit, " ", percent(top[0].probability),
                                ", ", top[1].digit, " ", percent(top[1].probability)));
  }
}

}  // namespace

std::vector<Reading> read_numbers(Model& model, const std::vector<NumberMarks>& numbers) {
  MarkAnswers answers(model, numbers);
  std::vector<Reading> readings;
  for (const NumberMarks& number : numbers) {
    Reading reading;
    reading.refusal = number.refusal;
    reading.reason = number.reason;
    reading.warnings = number.warnings;
    reading.steps = number.steps;
    for (const DigitMark& mark : number.marks) add_mark(mark, answers, reading);
    reading.probability = 1;
    for (size_t i = 0; i < reading.digits.size(); ++i) {
      const ReadDigit& digit = reading.digits[i];
      if (digit.refusal == Refusal::kNone) {
        reading.number += static_cast<char>('0' + digit.top[0].digit);
        reading.probability *= digit.top[0].probability;
      } else if (reading.refusal == Refusal::kNone) {
        const bool single = reading.digits.size() == 1;
        reading.refusal = single ? digit.refusal : Refusal::kNoNumber;
        reading.reason =
            single ? digit.reason
                   : concat("no number: mark ", i + 1, " of ", reading.digits.size(), " is ", digit.reason);
      }
    }
    if (reading.refusal != Refusal::kNone) {
      reading.number.clear();
      reading.probability = std::numeric_limits<double>::quiet_NaN();
    } else {
      warn_of_uncertain_digits(reading);
    }
    readings.push_back(std::move(reading));
  }
  return readings;
}

Reading read_number(Model& model, const Picture& picture) {
  return std::move(read_numbers(model, {prepare_number(picture)}).front());
}

}  // namespace lenslet
