// Moves between the lanes of two vectors, for kernels that are templates over the width. Internal.
#pragma once

#include <utility>

#include "framework/tensor/float_vector.h"
#include "layers/vector_exp.h"

namespace lenslet {

/// Lanes kFirst, kFirst + 2, … of a and then b.
template <int kFirst, typename Vector, int... kLane>
LENSLET_ALWAYS_INLINE void every_second(const Vector& a, const Vector& b, Vector& out,
                                        std::integer_sequence<int, kLane...> /*lanes*/) {
#if defined(__clang__)
  out = __builtin_shufflevector(a, b, (kFirst + 2 * kLane)...);
#else
  out = __builtin_shuffle(a, b, decltype(a < b){(kFirst + 2 * kLane)...});
#endif
}
/// Lanes of a and b in turns, from lane kFirst of both on.
template <int kFirst, typename Vector, int... kLane>
LENSLET_ALWAYS_INLINE void in_turns(const Vector& a, const Vector& b, Vector& out,
                                    std::integer_sequence<int, kLane...> /*lanes*/) {
  constexpr int kLanes = sizeof...(kLane);
#if defined(__clang__)
  out = __builtin_shufflevector(a, b, (kFirst + kLane / 2 + kLane % 2 * kLanes)...);
#else
  out = __builtin_shuffle(a, b, decltype(a < b){(kFirst + kLane / 2 + kLane % 2 * kLanes)...});
#endif
}

/// Value j of vector i and value i of vector j change places.
template <typename Quad>
LENSLET_ALWAYS_INLINE void transpose_4x4(Quad (&rows)[4]) {
  constexpr auto kLanes = std::make_integer_sequence<int, 4>();
  Quad even[2], odd[2];
  in_turns<0>(rows[0], rows[2], even[0], kLanes);
  in_turns<2>(rows[0], rows[2], even[1], kLanes);
  in_turns<0>(rows[1], rows[3], odd[0], kLanes);
  in_turns<2>(rows[1], rows[3], odd[1], kLanes);
  in_turns<0>(even[0], odd[0], rows[0], kLanes);
  in_turns<2>(even[0], odd[0], rows[1], kLanes);
  in_turns<0>(even[1], odd[1], rows[2], kLanes);
  in_turns<2>(even[1], odd[1], rows[3], kLanes);
}

}  // namespace lenslet
