// Internal to models: finds the main area of paper in a picture, and areas at its edges that are something else: a
// table, a shadow, the bar of a program.
#pragma once

#include <cstdint>
#include <vector>

#include "models/digit/plane.h"

namespace lenslet {

/// Smooth areas of a picture, for each sample of it.
struct PaperAreas {
  static constexpr uint8_t kMark = 0;   // not smooth, or enclosed by an area: perhaps ink
  static constexpr uint8_t kMain = 1;   // the paper that carries the marks
  static constexpr uint8_t kOther = 2;  // another wide area along the edge of the picture: a shadow, sunlight
  static constexpr uint8_t kBeside = 3;  // beside the sheet: a much darker or lighter area along the edge
  std::vector<uint8_t> kind;             // per sample
  double main_share = 0;                 // of all samples; 0: no area is large enough
  /// 1 for the samples of the main area.
  std::vector<uint8_t> main() const {
    std::vector<uint8_t> region(kind.size());
    for (size_t i = 0; i < kind.size(); ++i) region[i] = kind[i] == kMain;
    return region;
  }
  /// Whether a sample is on the sheet, in its usual light.
  bool on_paper(size_t i) const { return kind[i] == kMark || kind[i] == kMain; }
  bool on_something = false;  // the main area is a sheet that lies on a larger area
};

/// Neighbouring samples that differ by no more than the noise belong to one area. The main area is the largest one, but
/// if that encloses another large area with marks, as a desk encloses a sheet, the enclosed one.
PaperAreas find_paper_areas(const Plane& samples);

}  // namespace lenslet
