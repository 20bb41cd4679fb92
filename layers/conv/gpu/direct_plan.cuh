// Common parts of the direct backend's launch plans. A plan chooses the tiling of a problem and launches its kernel.
#pragma once

#include <algorithm>

#include "framework/cuda_check.h"
#include "framework/integer_math.h"
#include "framework/launch_resources.cuh"
#include "layers/conv/conv_backend.h"

namespace lenslet {

inline cudaStream_t direct_stream(const RunContext& context) {
  return static_cast<cudaStream_t>(context.stream.native_handle());
}

/// No groups, no dilation, one stride both ways.
inline bool is_plain(const Conv2dProblem& problem) {
  return problem.groups == 1 && problem.dilation_h == 1 && problem.dilation_w == 1 &&
         problem.stride_h == problem.stride_w;
}

/// Adjacent 2x2 windows without overlap: a thread with pairs of rows and columns pools them in registers.
inline bool is_halving(const Pool2dWindow& v) {
  return v.kernel_h == 2 && v.kernel_w == 2 && v.stride_h == 2 && v.stride_w == 2 && v.pad_h == 0 &&
         v.pad_w == 0;
}

/// A 3x3 window on three channels, as pictures have them.
inline bool is_rgb_3x3(const Conv2dProblem& problem) {
  return is_plain(problem) && problem.c == 3 && problem.r == 3 && problem.s == 3;
}

template <typename Kernel>
const void* kernel_address(Kernel kernel) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace lenslet
