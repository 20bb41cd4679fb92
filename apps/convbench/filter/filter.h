// Filters for pictures: three by name, any other from a file.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// One plane of taps, applied to each colour by itself. Each sum is multiplied with `scale` before it becomes a byte.
struct Filter {
  std::string name;
  int r = 3, s = 3;         // rows and columns, odd
  std::vector<float> taps;  // [R, S]
  double scale = 1;

  /// Sums of bytes are then exact integers in fp32, in whatever order they are added.
  bool exact_on_bytes() const;
  /// Sum of |tap|.
  double magnitude() const;
  /// As the filters of a convolution with three channels in and out that keeps them apart: [3, 3, R, S], zeros between
  /// different colours.
  std::vector<float> bank() const;
};

/// "edge": -1 around 8, what differs from its eight neighbours. "blur": 1 2 1 by 1 2 1, a sixteenth of it. "sharpen":
/// the picture and what differs from its four neighbours. Any other text is the name of a file (read_filter). Throws
/// DataError.
Filter find_filter(const std::string& name);

/// Reads rows of decimal numbers, odd in number and length, up to 31 each; `#` begins a comment, a line `scale 0.0625`
/// or `scale 1/16` sets the scale. Throws DataError with file and line.
Filter read_filter(const std::string& path);
/// The same of a text; `origin` names it in messages.
Filter parse_filter(const std::string& text, const std::string& origin);

}  // namespace lenslet
