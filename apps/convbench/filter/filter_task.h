// FilterTask: a picture, a filter and a stride, and the expected result.
//
//   z[p, q, c] = sum over r, s of tap[r, s] * x[p * stride - R/2 + r, q * stride - S/2 + s, c], zeros outside
//   byte = floor(scale * round(z) + 1/2) within 0 and 255
// Integer taps make z an integer. Rounding z first removes the rounding errors of the algorithm, so that every backend
// gives the same bytes, including those that transform tiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/convbench/filter/filter.h"
#include "apps/convbench/filter/rgb_values.h"
#include "apps/measuring/candidate.h"
#include "layers/conv/conv_accuracy.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {

class FilterTask {
 public:
  /// Throws UsageError if the picture has too many pixels to be counted.
  FilterTask(RgbValues values, Filter filter, int stride);

  const Filter& filter() const noexcept { return filter_; }
  const RgbValues& values() const noexcept { return values_; }
  int stride() const noexcept { return stride_; }
  /// One image, three channels in and out, padding R/2 and S/2.
  Conv2dProblem problem(TensorLayout layout) const;
  /// [3, 3, R, S]
  const std::vector<float>& weights() const noexcept { return weights_; }
  /// Input number `round` (values_of_round) in that layout.
  std::vector<float> input(int round, TensorLayout layout) const;
  /// Judges the bytes, and the sums against fp64 within the backend's bound. A large picture is judged at random
  /// places, more of them at its edges, other ones for each input. Unjudged outputs are not checked for NaN here.
  Verdict judge(int round, TensorLayout layout, const std::vector<float>& output,
                const ConvAccuracy& accuracy);
  /// The output as a picture.
  Picture picture_of(TensorLayout layout, const std::vector<float>& output) const;

 private:
  /// One judged output.
  struct Sample {
    int64_t colour = 0, pixel = 0;
    double sum = 0;
  };
  /// The samples of input number `round`.
  const std::vector<Sample>& samples(int round);
  uint8_t byte_of(double sum) const;

  RgbValues values_;
  Filter filter_;
  int stride_;
  bool exact_;
  std::vector<float> weights_;
  std::vector<Sample> samples_;  // of the round judged last
  int samples_round_ = -1;
};

/// The difference between two pictures of the same size.
struct ByteDifference {
  int64_t count = 0;
  int largest = 0;
  std::string first;  // "at row 3, column 7, red: 12 and 13"
};
ByteDifference difference_of(const Picture& a, const Picture& b);

}  // namespace lenslet
