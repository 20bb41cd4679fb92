// Internal: vectors of floats for kernels that are templates over the width.
//
// The types are written out for each width: g++ 11 ignores `aligned` in a typedef whose size is a template parameter,
// and would then use aligned loads for unaligned addresses. Vectors alias their elements. may_alias would make them
// alias everything, which costs speed.
#pragma once

namespace lenslet {

/// LANES floats: `type` in a register, `unaligned` at any address in memory.
template <int LANES>
struct FloatVector;

template <>
struct FloatVector<4> {
  typedef float type __attribute__((vector_size(16)));
  typedef float unaligned __attribute__((vector_size(16), aligned(4)));
};
template <>
struct FloatVector<8> {
  typedef float type __attribute__((vector_size(32)));
  typedef float unaligned __attribute__((vector_size(32), aligned(4)));
};
template <>
struct FloatVector<16> {
  typedef float type __attribute__((vector_size(64)));
  typedef float unaligned __attribute__((vector_size(64), aligned(4)));
};
static_assert(alignof(FloatVector<4>::unaligned) == alignof(float) &&
                  alignof(FloatVector<8>::unaligned) == alignof(float) &&
                  alignof(FloatVector<16>::unaligned) == alignof(float),
              "unaligned vectors need the alignment of one float");

}  // namespace lenslet
