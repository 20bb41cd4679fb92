// Pooling on the CPU: y[c, p, q] = max or mean over r, s of x[c, p*stride_h - pad_h + r, q*stride_w - pad_w +
// s]. x [planes, H, W], y [planes, P, Q].
//
// A row of outputs is gathered window cell by window cell, each cell for the range of q where it lies inside
// the input: the inner loop has no bounds check and vectorises. The 2x2 window with stride 2, the usual one,
// is done in one sweep.
#include <algorithm>
#include <limits>

#include "framework/parallel.h"
#include "framework/simd.h"
#include "layers/pool/pool_kernels.h"

namespace lenslet {
namespace {

// Least input values for a thread of its own: a smaller share costs more to hand over than to do.
constexpr int64_t kGrainValues = 32 * 1024;

// The larger value, NaN where either is one. `|`, not `||`: no branch, so the loops vectorise.
inline float larger(float a, float b) { return (b > a) | (b != b) ? b : a; }

LENSLET_SIMD_CLONES void max_2x2_row(const float* top, const float* bottom, float* y, int64_t q_count) {
  for (int64_t q = 0; q < q_count; ++q) {
    y[q] = larger(larger(top[2 * q], top[2 * q + 1]), larger(bottom[2 * q], bottom[2 * q + 1]));
  }
}

LENSLET_SIMD_CLONES void sum_2x2_row(const float* top, const float* bottom, float* y, int64_t q_count) {
  for (int64_t q = 0; q < q_count; ++q) {
    y[q] = ((top[2 * q] + top[2 * q + 1]) + (bottom[2 * q] + bottom[2 * q + 1])) * 0.25f;
  }
}

LENSLET_SIMD_CLONES void gather_max(const float* x, int64_t stride, float* y, int64_t count) {
  if (stride == 1) {
    for (int64_t q = 0; q < count; ++q) y[q] = larger(y[q], x[q]);
  } else {
    for (int64_t q = 0; q < count; ++q) y[q] = larger(y[q], x[q * stride]);
  }
}

LENSLET_SIMD_CLONES void gather_sum(const float* x, int64_t stride, float* y, int64_t count) {
  if (stride == 1) {
    for (int64_t q = 0; q < count; ++q) y[q] += x[q];
  } else {
    for (int64_t q = 0; q < count; ++q) y[q] += x[q * stride];
  }
}

// Output positions [first, end) whose window cell `offset` lies inside [0, size) of the input.
struct Range {
  int64_t first, end;
};

Range inside(int64_t size, int64_t outputs, int64_t offset, int64_t stride) {
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = offset >= size ? 0 : (size - 1 - offset) / stride + 1;
  return {std::min(first, outputs), std::clamp(end, std::min(first, outputs), outputs)};
}

// Cells of the window at output `index` that lie inside the input, along one axis.
int64_t cells_inside(int64_t size, int64_t kernel, int64_t begin) {
  return std::min(begin + kernel, size) - std::max<int64_t>(begin, 0);
}

void pool_row(const Pool2dProblem& problem, const float* plane, int64_t p, float* y) {
  const Pool2dWindow& v = problem.window;
  const bool is_max = problem.kind == PoolKind::kMax;
  std::fill(y, y + problem.q, is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
  const int64_t top = p * v.stride_h - v.pad_h;
  for (int64_t row = std::max<int64_t>(top, 0); row < std::min(top + v.kernel_h, problem.h); ++row) {
    for (int64_t s = 0; s < v.kernel_w; ++s) {
      const int64_t offset = s - v.pad_w;
      const Range q = inside(problem.w, problem.q, offset, v.stride_w);
      if (q.first == q.end) continue;
      const float* x = plane + row * problem.w + q.first * v.stride_w + offset;
      (is_max ? gather_max : gather_sum)(x, v.stride_w, y + q.first, q.end - q.first);
    }
  }
  if (is_max) return;
  const int64_t rows =
      problem.kind == PoolKind::kAverage ? v.kernel_h : cells_inside(problem.h, v.kernel_h, top);
  for (int64_t q = 0; q < problem.q; ++q) {
    const int64_t columns = problem.kind == PoolKind::kAverage
                                ? v.kernel_w
                                : cells_inside(problem.w, v.kernel_w, q * v.stride_w - v.pad_w);
    y[q] /= static_cast<float>(rows * columns);
  }
}

}  // namespace

void pool2d_direct_cpu(const Pool2dProblem& problem, const float* x, float* y) {
  const Pool2dWindow& v = problem.window;
  const bool is_2x2 = v.kernel_h == 2 && v.kernel_w == 2 && v.stride_h == 2 && v.stride_w == 2 &&
                      v.pad_h == 0 && v.pad_w == 0;
  const int64_t plane_values = problem.h * problem.w;
  const int64_t grain = std::max<int64_t>(1, kGrainValues / std::max<int64_t>(plane_values, 1));
  parallel_for(problem.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const float* plane = x + c * plane_values;   // [H, W]
      float* out = y + c * problem.p * problem.q;  // [P, Q]
      for (int64_t p = 0; p < problem.p; ++p, out += problem.q) {
        if (is_2x2) {
          const float* top = plane + 2 * p * problem.w;
          (problem.kind == PoolKind::kMax ? max_2x2_row : sum_2x2_row)(top, top + problem.w, out, problem.q);
        } else {
          pool_row(problem, plane, p, out);
        }
      }
    }
  });
}

}  // namespace lenslet
