// Walks over tensors whose dimensions have strides of their own, for layers that broadcast or move values. Internal.
#pragma once

#include <cstdint>

#include "framework/base/host_device.h"
#include "framework/tensor/shape.h"

namespace lenslet {

/// An array of `rank` dimensions, outermost first, and the strides of two tensors in it, in values. A stride of 0
/// repeats a value; it may be negative.
struct StridedPair {
  int rank = 0;                          ///< Of dims and strides.
  int64_t dims[Shape::kMaxRank] = {};    ///< Sizes, all above 0.
  int64_t first[Shape::kMaxRank] = {};   ///< Strides of the first tensor.
  int64_t second[Shape::kMaxRank] = {};  ///< Strides of the second tensor.

  /// Appends a dimension after the others. One of size 1 is left out, and one that continues the dimension before it
  /// in both tensors is joined to it.
  void append(int64_t size, int64_t first_stride, int64_t second_stride) {
    if (size == 1) return;
    if (rank > 0 && first[rank - 1] == first_stride * size && second[rank - 1] == second_stride * size) {
      dims[rank - 1] *= size;
    } else {
      dims[rank++] = size;
    }
    first[rank - 1] = first_stride;
    second[rank - 1] = second_stride;
  }
  /// Number of indices.
  LENSLET_HOST_DEVICE int64_t count() const {
    int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= dims[i];
    return product;
  }
  /// The places of index `index`, counted in C order.
  LENSLET_HOST_DEVICE void place(int64_t index, int64_t& in_first, int64_t& in_second) const {
    in_first = in_second = 0;
    for (int i = rank; i-- > 0;) {
      const int64_t above = index / dims[i], here = index - above * dims[i];
      in_first += here * first[i];
      in_second += here * second[i];
      index = above;
    }
  }
};

}  // namespace lenslet
