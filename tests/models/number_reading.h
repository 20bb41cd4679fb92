// Reads pictures of numbers with the built-in weights for pictures, on the CPU.
#pragma once

#include <string>

#include "api/number_reader.h"
#include "tests/models/drawn_pictures.h"

namespace lenslet::test {

inline Reading read(const Picture& picture) {
  static Model robust = [] {
    ModelOptions options;
    options.device = "cpu";
    return Model::load("robust", options);
  }();
  return read_number(robust, picture);
}
inline Reading read(const DrawnPicture& picture) { return read(picture.picture()); }

/// The number, the reason of a refusal and the warnings, for a test's message.
inline std::string told(const Reading& reading) {
  std::string text = reading.number + "|" + reading.reason;
  for (const std::string& warning : reading.warnings.texts) text += "|" + warning;
  return text;
}

}  // namespace lenslet::test
