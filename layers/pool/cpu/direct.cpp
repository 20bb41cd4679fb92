// Pooling on the CPU: y[c, p, q] = max or mean over r, s of x[c, p*stride_h - pad_h + r*dilation_h,
// q*stride_w - pad_w + s*dilation_w]. x [planes, H, W], y [planes, P, Q].
//
// A row of outputs is computed one window cell at a time, for the range of q in which the cell lies inside the input.
// The inner loop has no bounds check and vectorises. The common 2x2 window with stride 2 has its own path.
#include <algorithm>
#include <limits>

#include "framework/base/parallel.h"
#include "framework/base/simd.h"
#include "framework/tensor/keep_nan.h"
#include "layers/pool/cpu/max_pool_part.h"
#include "layers/pool/pool_backend.h"

namespace lenslet {
namespace {

// Smallest number of input values per thread, for windows of all kinds: one core takes 6 us for as many with windows of
// 2x2 and 157 us for means of 3x3 with stride 1, and waking another takes 10 us. Chosen by hand.
constexpr int64_t kGrainValues = 32 * 1024;

// Means of 2x2 windows with stride 2 over `pairs` consecutive pairs of rows of an even `width`. Rows are reduced first,
// then neighbours, so that both loops run over long contiguous arrays for any width.
LENSLET_SIMD_CLONES void mean_2x2_pairs(const float* x, int64_t pairs, int64_t width, float* y) {
  float folded[kFoldValues];
  const int64_t max_pairs = kFoldValues / width;
  for (int64_t first = 0; first < pairs; first += max_pairs) {
    const int64_t count = std::min(max_pairs, pairs - first);
    for (int64_t i = 0; i < count; ++i) {
      const float* top = x + (first + i) * 2 * width;
      for (int64_t j = 0; j < width; ++j) folded[i * width + j] = top[j] + top[width + j];
    }
    float* out = y + first * width / 2;
    for (int64_t q = 0; q < count * width / 2; ++q) out[q] = (folded[2 * q] + folded[2 * q + 1]) * 0.25f;
  }
}

LENSLET_SIMD_CLONES void gather_sum(const float* x, int64_t stride, float* y, int64_t count) {
  if (stride == 1) {
    for (int64_t q = 0; q < count; ++q) y[q] += x[q];
  } else {
    for (int64_t q = 0; q < count; ++q) y[q] += x[q * stride];
  }
}

LENSLET_SIMD_CLONES void gather_largest(const float* x, int64_t stride, float* y, int64_t count) {
  for (int64_t q = 0; q < count; ++q) y[q] = larger(y[q], x[q * stride]);
}

// Windows of any kind, also dilated ones and those that reach past the padding.
void any_row(const Pool2dProblem& problem, const float* plane, int64_t p, float* y) {
  const Pool2dWindow& v = problem.window;
  const bool maximum = problem.kind == PoolKind::kMax;
  std::fill(y, y + problem.q, maximum ? -std::numeric_limits<float>::infinity() : 0.0f);
  const int64_t top = p * v.stride_h - v.pad_h;
  for (int64_t r = 0; r < v.r; ++r) {
    const int64_t row = top + r * v.dilation_h;
    if (row < 0 || row >= problem.h) continue;
    for (int64_t s = 0; s < v.s; ++s) {
      const int64_t offset = s * v.dilation_w - v.pad_w;
      const PositionRange q = windows_inside(problem.w, offset, v.stride_w, {0, problem.q});
      if (q.first == q.end) continue;
      const float* x = plane + row * problem.w + q.first * v.stride_w + offset;
      (maximum ? gather_largest : gather_sum)(x, v.stride_w, y + q.first, q.end - q.first);
    }
  }
  if (maximum) return;
  const bool inside = problem.kind == PoolKind::kAverageInside;
  const CellRange rows_in{inside ? 0 : -int64_t{v.pad_h}, problem.h + (inside ? 0 : v.pad_h + v.more_pad_h)};
  const CellRange columns_in{inside ? 0 : -int64_t{v.pad_w},
                             problem.w + (inside ? 0 : v.pad_w + v.more_pad_w)};
  const int64_t rows = cells_within(top, v.r, v.dilation_h, rows_in);
  for (int64_t q = 0; q < problem.q; ++q) {
    const int64_t left = q * v.stride_w - v.pad_w;
    y[q] /= static_cast<float>(rows * cells_within(left, v.s, v.dilation_w, columns_in));
  }
}

// Mean of a whole plane, in as many partial sums as the widest vector holds.
LENSLET_SIMD_CLONES float plane_mean(const float* x, int64_t count) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += x[i + l];
  }
  float sum = 0;
  for (float lane : lanes) sum += lane;
  for (int64_t i = whole; i < count; ++i) sum += x[i];
  return sum / static_cast<float>(count);
}

// Whether the fast 2x2 path applies: all pairs of rows of the whole tensor are contiguous.
bool is_2x2_of_even_planes(const Pool2dProblem& problem) {
  return problem.window.is_halving() && problem.h % 2 == 0 && problem.w % 2 == 0 && problem.w <= kFoldValues;
}

void pool(const Pool2dProblem& problem, const float* x, float* y, Stream& /*stream*/) {
  const int64_t plane_values = problem.h * problem.w;
  const int64_t grain = std::max<int64_t>(1, kGrainValues / std::max<int64_t>(plane_values, 1));
  const bool is_2x2 = is_2x2_of_even_planes(problem);
  const bool is_plain_maximum = problem.kind == PoolKind::kMax && problem.window.plain();
  const bool is_mean_of_planes = problem.kind != PoolKind::kMax && problem.is_whole();
  parallel_for(problem.planes, grain, [&](int64_t begin, int64_t end) {
    const int64_t planes = end - begin;
    const float* first = x + begin * plane_values;
    float* out = y + begin * problem.p * problem.q;
    // Contiguous planes of even height are one plane.
    if (is_2x2 && problem.kind == PoolKind::kMax) {
      max_pool_part(problem.window, {first, problem.w, planes * problem.h, problem.w},
                    {0, planes * problem.p, 0, problem.q}, out, problem.q);
      return;
    }
    if (is_2x2) return mean_2x2_pairs(first, planes * problem.p, problem.w, out);
    for (int64_t c = 0; c < planes; ++c, first += plane_values, out += problem.p * problem.q) {
      if (is_mean_of_planes) {
        *out = plane_mean(first, plane_values);
        continue;
      }
      if (is_plain_maximum) {
        max_pool_part(problem.window, {first, problem.w, problem.h, problem.w}, {0, problem.p, 0, problem.q},
                      out, problem.q);
        continue;
      }
      for (int64_t p = 0; p < problem.p; ++p) any_row(problem, first, p, out + p * problem.q);
    }
  });
}

}  // namespace

LENSLET_BACKEND(pool, cpu_direct, PoolBackend{&pool})

}  // namespace lenslet
