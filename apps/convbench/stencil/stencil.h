// One filter over a signal or an image, without channels: the convolution of textbooks (D. Kirk, W. Hwu, I. El Hajj,
// "Programming Massively Parallel Processors", 4th ed., 2022, chapter 7).
//
//   1D: y[i]    = sum over t of    w[t]    * x[i + t - before]
//   2D: y[p, q] = sum over s, t of w[s, t] * x[p + s - before, q + t - before]
// x and y are [width] or [height, width], w is [taps] or [taps, taps], before = (taps - 1) / 2, all fp32.
#pragma once

#include <cstdint>
#include <string>

#include "framework/graph/layer.h"

namespace lenslet {

/// The values of x beyond its edges.
enum class Boundary {
  kZero,    // 0 0 | a b c d | 0 0
  kClamp,   // a a | a b c d | d d
  kReflect  // c b | a b c d | c b
};
/// "zero", "clamp" or "reflect".
const char* to_string(Boundary boundary) noexcept;

struct Stencil {
  int dimensions = 1;
  int height = 1, width = 0;
  int taps = 7;  // width of the filter along each dimension

  int before() const noexcept { return (taps - 1) / 2; }
  int after() const noexcept { return taps - 1 - before(); }
  int64_t elements() const noexcept { return int64_t{height} * width; }
  int filter_size() const noexcept { return dimensions == 1 ? taps : taps * taps; }
  double flops() const noexcept { return 2.0 * filter_size() * static_cast<double>(elements()); }
  /// Bytes of input and output, once: the filter stays in a cache.
  double bytes() const noexcept { return 2.0 * static_cast<double>(elements()) * sizeof(float); }
  /// "16777216 elements, 7 taps" or "4096 x 4096 elements, 5 x 5 taps".
  std::string to_string() const;
  /// Throws UsageError with the option, its value and its legal range.
  void check() const;
  /// A single reflection must give an index inside x.
  Support supports(Boundary boundary) const;
};

}  // namespace lenslet
