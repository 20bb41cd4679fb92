#include "apps/convbench/stencil/stencil.h"

#include <algorithm>

#include "apps/convbench/stencil/stencil_kernels.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

// 2^30 elements are 4 GiB of input and 4 GiB of output, and an index plus a filter's reach fits an int.
constexpr int kMaxLength = 1 << 30, kMaxEdge = 1 << 16;

void check_extent(const char* option, int value, int max) {
  if (value >= 1 && value <= max) return;
  throw UsageError(concat(option, " expects 1 to ", max, ", found ", value));
}

}  // namespace

const char* to_string(Boundary boundary) noexcept {
  switch (boundary) {
    case Boundary::kZero:
      return "zero";
    case Boundary::kClamp:
      return "clamp";
    case Boundary::kReflect:
      return "reflect";
  }
  return "?";
}

std::string Stencil::to_string() const {
  if (dimensions == 1) return concat(width, " elements, ", counted(taps, "tap"));
  return concat(height, " x ", width, " elements, ", taps, " x ", taps, " taps");
}

void Stencil::check() const {
  if (dimensions == 1) {
    check_extent("--length", width, kMaxLength);
    check_extent("--taps", taps, kMaxTaps1d);
  } else {
    check_extent("--height", height, kMaxEdge);
    check_extent("--width", width, kMaxEdge);
    if (taps < 1 || taps > kMaxTaps2d || taps % 2 == 0) {
      throw UsageError(concat("--radius expects 0 to ", (kMaxTaps2d - 1) / 2, ", found ", (taps - 1) / 2));
    }
    if (elements() > kMaxLength) {
      throw UsageError(
          concat("--height and --width make ", elements(), " elements, the limit is ", kMaxLength));
    }
  }
}

Support Stencil::supports(Boundary boundary) const {
  if (boundary != Boundary::kReflect) return Support::yes();
  const int reach = std::max(before(), after());
  const int shortest = dimensions == 1 ? width : std::min(height, width);
  if (reach < shortest) return Support::yes();
  return Support::no(concat("a filter of ", taps, " taps reaches ", reach,
                            " elements beyond the edge, and reflecting ", shortest,
                            " goes back no more than ", shortest - 1, ": use zero or clamp, or fewer taps"));
}

}  // namespace lenslet
