// What may be wrong with a picture, as codes and as text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lenslet {

/// Bits, so that a set of them is a number.
enum class PictureWarning : uint32_t {
  kEdgeLeftOut = 1,       // a line, frame or shadow at the edge was left out
  kLittleContrast = 2,    // the ink, or a part of it, hardly differs from the paper
  kTouchesEdge = 4,       // part of the ink may be outside the picture
  kSmall = 8,             // a digit has few pixels
  kOffCentre = 16,        // the ink's centre of mass lies far from its middle
  kSeveralMarks = 32,     // marks that stand apart were taken as one digit
  kMarkLeftOut = 64,      // a line or a speck beside the digits was left out
  kBlank = 128,           // no ink was found
  kTouching = 256,        // a wide mark was cut into digits, or could have been
  kWideGap = 512,         // digits that may belong to several numbers
  kUnevenHeights = 1024,  // digits that may not belong to one number
  kFaintMark = 2048,      // a mark as large as a digit was too faint to be read
  kSlanted = 4096,        // a strongly slanted stroke or number
  kUncertain = 8192,      // another digit is about as likely
};

/// Text of kBlank, which is a reason for a refusal too.
inline constexpr const char* kNoInk = "blank: no ink found";
/// Text of kBlank if there is ink, but the common box of its marks is empty; a reason for a refusal too.
inline constexpr const char* kMarksTooFarApart = "blank: the marks found lie too far apart for a digit";

/// Warnings in the order found, each text once.
struct PictureWarnings {
  uint32_t codes = 0;              // of all, by bits
  std::vector<std::string> texts;  // one line each

  /// Adds the code, and the text unless it is there already.
  void add(PictureWarning code, std::string text) {
    codes |= static_cast<uint32_t>(code);
    for (const std::string& known : texts) {
      if (known == text) return;
    }
    texts.push_back(std::move(text));
  }
  /// Adds all of another set.
  void add(const PictureWarnings& others) {
    codes |= others.codes;
    for (const std::string& text : others.texts) add(PictureWarning{}, text);
  }
  /// Whether a warning with this code was added.
  bool has(PictureWarning code) const { return (codes & static_cast<uint32_t>(code)) != 0; }
};

}  // namespace lenslet
