// What the host prepares for the kernels of an implicit GEMM, of whichever backend: sizes, the table of taps, and
// filters packed tap by tap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/base/integer_math.h"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/implicit_gemm_tap.h"
#include "layers/conv/gpu/kernel_host.cuh"

namespace lenslet {

/// [K, C/G, R, S] to [G, padded_taps, pitch]: the filters of one tap are contiguous, padded with zeros.
inline std::shared_ptr<float> upload_filters(const ConvPrepare& request, int padded_taps, int pitch) {
  const Conv2dProblem& problem = request.problem;
  const int group_filters = problem.k / problem.groups,
            taps = problem.c / problem.groups * problem.r * problem.s;
  std::vector<float> packed(static_cast<size_t>(problem.groups) * padded_taps * pitch, 0.0f);
  for (int k = 0; k < problem.k; ++k) {
    const int64_t group = k / group_filters, filter = k % group_filters;
    for (int64_t i = 0; i < taps; ++i) {
      packed[static_cast<size_t>((group * padded_taps + i) * pitch + filter)] =
          request.weights[int64_t{k} * taps + i];
    }
  }
  return request.services.upload(packed.data(), packed.size());
}

/// The largest offset of a window's corner from the input's start, or of a tap from its corner; see ImplicitGemmTap.
inline int64_t implicit_gemm_reach(const Conv2dProblem& problem) {
  const int64_t rows_below = int64_t{problem.n} * problem.c * problem.h + problem.pad_h;
  const int64_t corner = rows_below * problem.w + problem.pad_w;
  const int64_t channels = problem.c / problem.groups, dh = int64_t{problem.r - 1} * problem.dilation_h;
  const int64_t tap =
      ((channels - 1) * problem.h + dh) * problem.w + int64_t{problem.s - 1} * problem.dilation_w;
  return std::max(corner, tap);
}

/// The rows of the im2col matrix, channel by channel, and after them rows that read as zero.
inline std::vector<ImplicitGemmTap> implicit_gemm_taps(const Conv2dProblem& problem, int padded_taps) {
  const int taps = problem.c / problem.groups * problem.r * problem.s;
  std::vector<ImplicitGemmTap> table(static_cast<size_t>(padded_taps),
                                     ImplicitGemmTap{-1, ImplicitGemmTap::kNowhere, 0});
  for (int i = 0; i < taps; ++i) {
    const int c = i / (problem.r * problem.s), r = i / problem.s % problem.r, s = i % problem.s;
    const int dh = r * problem.dilation_h, dw = s * problem.dilation_w;
    table[static_cast<size_t>(i)] = {(c * problem.h + dh) * problem.w + dw, dh, dw};
  }
  return table;
}

/// The sizes that every kernel takes; `block_m`: filters of a block.
template <typename Shape>
void set_implicit_gemm_sizes(Shape& shape, const Conv2dProblem& problem, int block_m) {
  const int group_channels = problem.c / problem.groups;
  shape.h = problem.h;
  shape.w = problem.w;
  shape.q = problem.q();
  shape.plane = problem.p() * problem.q();
  shape.image = problem.c * problem.h * problem.w;
  shape.group_input = group_channels * problem.h * problem.w;
  shape.k = problem.k;
  shape.group_filters = problem.k / problem.groups;
  shape.filter_pitch = static_cast<int>(round_up(shape.group_filters, block_m));
  shape.by_filter_tiles = FastDivide(shape.filter_pitch / block_m);
}

}  // namespace lenslet
