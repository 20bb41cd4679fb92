// Copies of short rows, inline: for rows of some tens of values a call of memcpy or memset takes longer than its work,
// and a convolution makes several for each row of each channel. Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "framework/tensor/float_vector.h"
#include "layers/conv/cpu/lanes.h"
#include "layers/vector_exp.h"

namespace lenslet {

/// In a loop over `i`: keeps the compiler from making the loop a call of memcpy or memset.
LENSLET_ALWAYS_INLINE void keep_loop(int64_t& i) {
#if defined(__GNUC__)
  asm("" : "+r"(i));
#endif
}

/// `count` zeros.
inline void zero_row(float* out, int64_t count) {
  using Quad = FloatVector<4>::unaligned;
  for (; count >= 4; count -= 4, out += 4) {
    keep_loop(count);
    *reinterpret_cast<Quad*>(out) = Quad{};
  }
  switch (count) {
    case 3:
      out[2] = 0;
      [[fallthrough]];
    case 2:
      out[1] = 0;
      [[fallthrough]];
    case 1:
      out[0] = 0;
      [[fallthrough]];
    default:
      break;
  }
}

/// `count` neighbouring values, W at a time; the rows do not overlap.
template <int W = 8>
LENSLET_ALWAYS_INLINE void copy_row(const float* from, int64_t count, float* out) {
  using Vector = typename FloatVector<W>::unaligned;
  if (count >= W) {
    for (int64_t i = 0; i + W <= count; i += W) {
      keep_loop(i);
      *reinterpret_cast<Vector*>(out + i) = *reinterpret_cast<const Vector*>(from + i);
    }
    // The last ones, some of them again.
    *reinterpret_cast<Vector*>(out + count - W) = *reinterpret_cast<const Vector*>(from + count - W);
    return;
  }
  if constexpr (W > 8) return copy_row<W / 2>(from, count, out);
  using Quad = FloatVector<4>::unaligned;
  if (count >= 4) {
    *reinterpret_cast<Quad*>(out) = *reinterpret_cast<const Quad*>(from);
    *reinterpret_cast<Quad*>(out + count - 4) = *reinterpret_cast<const Quad*>(from + count - 4);
    return;
  }
  switch (count) {
    case 3:
      out[2] = from[2];
      [[fallthrough]];
    case 2:
      out[1] = from[1];
      [[fallthrough]];
    case 1:
      out[0] = from[0];
      [[fallthrough]];
    default:
      break;
  }
}

/// Every kStep-th of the values from `from` on.
template <int kStep>
LENSLET_ALWAYS_INLINE void copy_every(const float* from, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = from[i * kStep];
}

/// Neighbouring values. Only for long rows is a call of memcpy, which has the processor's widest vectors, worth it.
inline void copy_neighbours(const float* from, int64_t count, float* out) {
  constexpr int64_t kPiece = 4, kLong = 64;  // a baseline vector; four of the widest. Chosen by hand
  if (count >= kLong || count < kPiece) {
    std::copy(from, from + count, out);
    return;
  }
  int64_t i = 0;
  for (; i + kPiece <= count; i += kPiece) std::memcpy(out + i, from + i, kPiece * sizeof(float));
  std::memcpy(out + count - kPiece, from + count - kPiece, kPiece * sizeof(float));
}

/// The values from `from` on, `step` apart. Steps of usual strides and of RGB are compile-time constants, because GCC
/// vectorises those, and the speed of a short loop for any step depends on where it lies in the code.
inline void copy_every(int64_t step, const float* from, int64_t count, float* out) {
  if (step == 1) return copy_neighbours(from, count, out);
  if (step == 2) return copy_every<2>(from, count, out);
  if (step == 3) return copy_every<3>(from, count, out);
  for (int64_t i = 0; i < count; ++i) out[i] = from[i * step];
}

/// `count` pairs of neighbouring values, the first of each to `even` and the second to `odd`, W pairs at a time.
template <int W>
LENSLET_ALWAYS_INLINE void split_pairs(const float* from, int64_t count, float* even, float* odd) {
  using Memory = typename FloatVector<W>::unaligned;
  using Vector = typename FloatVector<W>::type;
  if (count < W) {
    if constexpr (W > 4) return split_pairs<W / 2>(from, count, even, odd);
    for (int64_t i = 0; i < count; ++i) {
      even[i] = from[2 * i];
      odd[i] = from[2 * i + 1];
    }
    return;
  }
  for (int64_t i = 0;; i += W) {
    if (i > count - W) i = count - W;  // the last ones, some of them again
    const Vector a = *reinterpret_cast<const Memory*>(from + 2 * i),
                 b = *reinterpret_cast<const Memory*>(from + 2 * i + W);
    Vector firsts, seconds;
    every_second<0>(a, b, firsts, std::make_integer_sequence<int, W>());
    every_second<1>(a, b, seconds, std::make_integer_sequence<int, W>());
    *reinterpret_cast<Memory*>(even + i) = firsts;
    *reinterpret_cast<Memory*>(odd + i) = seconds;
    if (i == count - W) return;
  }
}

}  // namespace lenslet
