// Filters for pictures: three by name, any other from a file.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// One plane of taps, applied to each colour separately. Each sum is multiplied by `scale` before it becomes a byte.
struct Filter {
  std::string name;
  int r = 3, s = 3;         // rows and columns, odd
  std::vector<float> taps;  // [R, S]
  double scale = 1;

  /// Whether sums of bytes are exact integers in fp32, in any order of addition.
  bool exact_on_bytes() const;
  /// Sum of |tap|.
  double magnitude() const;
  /// The weights of a convolution with three channels in and out, [3, 3, R, S], with zeros between different colours.
  std::vector<float> bank() const;
};

/// "edge": 8 times the pixel minus its eight neighbours. "blur": 1 2 1 by 1 2 1, divided by 16. "sharpen": the picture
/// plus its difference from the four neighbours. Any other text is a file name (read_filter). Throws DataError.
Filter find_filter(const std::string& name);

/// Reads rows of decimal numbers; number and length are odd and at most 31. `#` begins a comment; a line `scale 0.0625`
/// or `scale 1/16` sets the scale. Throws DataError with file and line.
Filter read_filter(const std::string& path);
/// Like read_filter(), for a text; messages name `origin`.
Filter parse_filter(const std::string& text, const std::string& origin);

}  // namespace lenslet
