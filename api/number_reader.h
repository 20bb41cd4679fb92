// Reads the numbers in pictures with a model: the digits from left to right, each with its place and its probability.
// The command line, the C interface and the Python package read pictures by it.
#pragma once

#include <string>
#include <vector>

#include "api/model.h"
#include "models/classifier.h"
#include "models/digit/number_marks.h"

namespace lenslet {

/// The reason of Refusal::kNotFinite.
inline constexpr const char* kNotFiniteReason = "the model's output is not a number";

/// A digit, or a mark that is refused.
struct ReadDigit {
  using Guess = lenslet::Guess;      ///< A class of 0 to 9, without a label.
  static constexpr size_t kTop = 3;  // guesses kept
  Box box;                           // in pixels of the picture
  std::vector<Guess> top;  // the kTop most likely, first the digit; empty if the output is not finite
  double energy = 0;       // log(sum(exp(logits))), compared with Model::energy_threshold()
  Refusal refusal = Refusal::kNone;  // why it is no digit
  std::string reason;                // one line; empty for kNone
  DigitImage input;                  // what the model read
};

/// The number in a picture.
struct Reading {
  std::string number;                // "2026"; empty if refused
  double probability = 0;            // of all digits: the product of theirs; NaN if refused
  std::vector<ReadDigit> digits;     // from left to right, refused ones too
  Refusal refusal = Refusal::kNone;  // why there is no number
  std::string reason;                // one line; empty for kNone
  PictureWarnings warnings;          // of the picture and its digits
  std::vector<std::string> steps;    // each decision about the picture
  /// Whether the picture has no ink.
  bool blank() const { return refusal == Refusal::kBlank; }
};

/// Reads pictures that prepare_number() has prepared, all digits in one call of the model. Weights without an energy
/// threshold refuse no mark. Throws like Model::logits().
std::vector<Reading> read_numbers(Model& model, const std::vector<NumberMarks>& numbers);

/// Reads one picture.
Reading read_number(Model& model, const Picture& picture);

}  // namespace lenslet
