// Converts a picture of a number to the model's inputs, one for each digit, from left to right.
#pragma once

#include <string>
#include <vector>

#include "framework/io/picture.h"
#include "models/digit/digit_image.h"
#include "models/digit/plane.h"

namespace lenslet {

/// Why a picture, or a mark in it, has no answer. Values are part of the C interface.
enum class Refusal {
  kNone = 0,
  kBlank = 1,      // no ink
  kNoDigit = 2,    // the model takes the mark for no digit
  kTooSmall = 3,   // a mark that is too small for a digit of this number: a point, a comma, a dash
  kTouching = 4,   // a wide mark that no cut divides into digits
  kTexture = 5,    // too many marks, or noise: textured or written-on paper
  kRows = 6,       // marks one above the other
  kNoNumber = 7,   // at least one of several marks is refused
  kNotFinite = 8,  // the model's output is not a number
};

inline constexpr int kMaxMarks = 32;  ///< Marks of a number; a phone number has at most 15 digits.
inline constexpr int kMaxParts = 5;   ///< Digits that one mark is cut into.
inline constexpr int kMaxDigits = kMaxMarks * kMaxParts;  ///< Digits of a number.

/// "no_digit": the name of a refusal in files; empty for kNone.
const char* refusal_name(Refusal refusal);

/// A mark in a plainer form, such as upright instead of slanted.
struct DigitRetake {
  DigitImage digit;     // what the model reads instead
  PictureWarning code;  // an answer that comes from this form carries this warning
  std::string warning;  // its text, one line
};

/// A mark that may be a digit.
struct DigitMark {
  Box box;           // in pixels of the picture
  DigitImage digit;  // what the model reads
  /// Whether the mark is a straight stroke that leans like a slash.
  enum class Slash { kNo, kPerhaps, kYes };
  Slash slash = Slash::kNo;                  // kNo too if it is no straight stroke
  bool small = false;                        // too small for a digit beside the others
  bool wide = false;                         // wider than one digit usually is
  std::vector<std::vector<DigitMark>> cuts;  // of a wide mark: the ways to divide it, each from left to right
  std::vector<DigitRetake> retakes;          // in case the model refuses `digit`, in this order
};

/// The model's inputs from a picture, and the steps that led to them.
struct NumberMarks {
  std::vector<DigitMark> marks;      // from left to right; empty if refused
  Refusal refusal = Refusal::kNone;  // of the picture as a whole, before the model sees it
  std::string reason;                // one line; empty for kNone
  std::vector<std::string> steps;    // each decision, for --explain
  PictureWarnings warnings;          // of the picture and its marks
};

/// Finds the marks, groups them to digits and prepares each like prepare_digit(). A picture with one digit gives the
/// same pixels as prepare_digit(). One of 28x28 pixels is always one digit.
NumberMarks prepare_number(const Picture& picture);

/// One digit that has MNIST's form already: `pixels` [28, 28]. Refused as blank if all pixels are equal.
NumberMarks number_of(const uint8_t* pixels);

}  // namespace lenslet
