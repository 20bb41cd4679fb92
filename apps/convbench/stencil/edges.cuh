// Elements of x beyond its edges, for kernels.
#pragma once

#include "apps/convbench/stencil/stencil_kernels.h"
#include "framework/device/gpu_limits.h"

namespace lenslet {

/// The source index of element i of n; -1 means zero. Reflects once: i in (-n, 2n - 1).
template <Boundary kBoundary>
__device__ __forceinline__ int edge_index(int i, int n) {
  if (kBoundary == Boundary::kZero) return static_cast<unsigned>(i) < static_cast<unsigned>(n) ? i : -1;
  if (kBoundary == Boundary::kClamp) return min(max(i, 0), n - 1);
  const int inside = i < 0 ? -i : i;
  return inside < n ? inside : 2 * (n - 1) - inside;
}

/// x[i] for any i; x has n elements.
template <Boundary kBoundary>
__device__ __forceinline__ float edge_value(const float* x, int i, int n) {
  const int from = edge_index<kBoundary>(i, n);
  return kBoundary == Boundary::kZero && from < 0 ? 0.0f : __ldg(x + from);
}

/// x[h, w] for any h and w; x has height x width elements.
template <Boundary kBoundary>
__device__ __forceinline__ float edge_value(const float* x, int h, int w, int height, int width) {
  const int row = edge_index<kBoundary>(h, height), column = edge_index<kBoundary>(w, width);
  if (kBoundary == Boundary::kZero && (row < 0 || column < 0)) return 0.0f;
  return __ldg(x + static_cast<int64_t>(row) * width + column);
}

/// Calls the instance of a kernel for a boundary.
inline StencilKernel::Function by_boundary(Boundary boundary, StencilKernel::Function zero,
                                           StencilKernel::Function clamp, StencilKernel::Function reflect) {
  return boundary == Boundary::kZero ? zero : boundary == Boundary::kClamp ? clamp : reflect;
}

}  // namespace lenslet
