// Common parts of the direct backend's launches. Each <kernel>_launch.cuh chooses the tiling of a problem and launches
// the kernel.
#pragma once

#include <algorithm>

#include "framework/base/integer_math.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/direct/rows.cuh"
#include "layers/conv/gpu/kernel_host.cuh"

namespace lenslet {

/// No groups, no dilation, one stride both ways.
inline bool is_plain(const Conv2dProblem& problem) {
  return problem.groups == 1 && problem.dilation_h == 1 && problem.dilation_w == 1 &&
         problem.stride_h == problem.stride_w;
}

/// A 3x3 window on three channels, as pictures have them.
inline bool is_rgb_3x3(const Conv2dProblem& problem) {
  return is_plain(problem) && problem.c == 3 && problem.r == 3 && problem.s == 3;
}

/// The filters of an RGB image to K planes and their biases, as a kernel parameter.
template <int K>
DirectRowsFilter<3, K, 3, 3> rgb_filter(const ConvPrepare& request) {
  DirectRowsFilter<3, K, 3, 3> filter;
  std::copy_n(request.weights, K * 27, filter.weights);
  for (int k = 0; k < K; ++k) filter.bias[k] = request.bias ? request.bias[k] : 0.0f;
  return filter;
}

}  // namespace lenslet
