// How the direct convolution on the CPU divides a problem into bands of rows, and where it reads them. Internal.
#pragma once

#include <algorithm>
#include <optional>

#include "framework/base/integer_math.h"
#include "layers/conv/conv_problem.h"
#include "layers/gemm/cpu/tile_kernel.h"
#include "layers/pool/pool_window.h"

namespace lenslet {

// Size of a row block's tile of outputs before gaps are dropped or the tile is pooled: 8 rows are 32 KiB of stack.
constexpr int64_t kMaxPositions = 1024;
// A packed band stays in the L2 cache of one core, next to the weights.
constexpr int64_t kBandBytes = 256 * 1024;

struct Walk {
  static bool packs(const Conv2dProblem& problem) {
    return problem.layout == TensorLayout::kNhwc || problem.stride_h != 1 || problem.stride_w != 1 ||
           problem.pad_h != 0 || problem.pad_w != 0 || problem.asymmetric();
  }
  /// Elements of a group's padded image, divided into residues of whole strides; 0 if it is not packed. Padding has no
  /// limit, so a problem of a few elements may need more than there is memory.
  static double packed_elements(const Conv2dProblem& problem) {
    const double height = problem.h + 2.0 * problem.pad_h + problem.more_pad_h + 2.0 * problem.stride_h;
    const double width = problem.w + 2.0 * problem.pad_w + problem.more_pad_w + 2.0 * problem.stride_w;
    return packs(problem) ? problem.c / problem.groups * height * width : 0;
  }
  /// Whether these are less than 2^31: then no product here overflows.
  static bool fits(const Conv2dProblem& problem) { return packed_elements(problem) < 0x1p31; }

  /// With a window, the height of a band is the number of windows that fit.
  explicit Walk(const Conv2dProblem& problem, const std::optional<Pool2dWindow>& pool = {})
      : p(problem.p()), q(problem.q()), packed(packs(problem)) {
    const int64_t channels = problem.c / problem.groups;
    // Cells of the padded input that one residue of the stride owns along the width, up to the last one needed.
    const int64_t reach_w = (q - 1) * problem.stride_w + int64_t{problem.dilation_w} * (problem.s - 1) + 1;
    pitch = packed ? ceil_div(reach_w, problem.stride_w) : problem.w;
    // Whole vectors are computed: separate rows are rounded up to vectors, and the line through all rows includes its
    // gaps.
    const int64_t vector = tile_kernels().vector_floats;
    by_row = pitch != q && round_up(q, vector) <= pitch;
    const int64_t positions_per_row = std::max<int64_t>(pitch, 1);
    rows = by_row ? p : std::clamp<int64_t>(kMaxPositions / positions_per_row, 1, p);
    // Rows without gaps are written in place, and pooled rows have their own tiles: neither needs the tile here. Packed
    // bands of pooled rows have the same height as others, so that the workspace is the same.
    if (!by_row && (pitch == q || (pool && !packed))) rows = p;
    // Input rows in one band of `rows` outputs, over all residues: (rows + reach of the filter) * stride.
    const int64_t halo = packed ? int64_t{problem.dilation_h} * (problem.r - 1) / problem.stride_h : 0;
    if (packed) {
      const int64_t row_bytes = channels * problem.stride_w * pitch * static_cast<int64_t>(sizeof(float));
      const int64_t fit = kBandBytes / std::max<int64_t>(row_bytes * problem.stride_h, 1) - halo;
      rows = std::clamp<int64_t>(fit, 1, rows);
    } else {
      // Rows in place: as many as keep all channels' lines in the L2 cache.
      const int64_t row_bytes = channels * problem.w * static_cast<int64_t>(sizeof(float));
      rows = std::clamp<int64_t>(kBandBytes / std::max<int64_t>(row_bytes, 1), 1, rows);
    }
    bands = ceil_div(p, rows);
    rows = ceil_div(p, bands);  // bands of equal height, so that threads have equal work
    if (pool) {
      const int64_t windows = pool->rows(p);
      band_windows = rows < pool->r ? 1 : (rows - pool->r) / pool->stride_h + 1;
      band_windows = std::min(band_windows, windows);
      rows = std::min((band_windows - 1) * pool->stride_h + pool->r, p);
      bands = ceil_div(windows, band_windows);
    }
    band_rows = packed ? rows + halo : 0;
  }

  int64_t p, q;
  bool packed;               // packs(): bands are copied into a padded buffer first, channel by channel
  int64_t pitch = 0;         // elements from one output row to the next in the line that is read
  bool by_row = false;       // each row alone, else the rows of a band as one line
  int64_t rows = 0;          // output rows of one band
  int64_t band_windows = 0;  // rows of windows in a band, if it is pooled
  int64_t bands = 0;
  int64_t band_rows = 0;  // rows of one residue's plane in the packed buffer

  /// Elements of one channel's planes in the packed buffer.
  int64_t channel_step(const Conv2dProblem& problem) const {
    return packed ? int64_t{problem.stride_h} * problem.stride_w * band_rows * pitch
                  : int64_t{problem.h} * problem.w;
  }
  int64_t packed_floats(const Conv2dProblem& problem) const {
    if (!packed) return 0;
    const int64_t line = 64 / static_cast<int64_t>(sizeof(float));  // slots on cache lines of their own
    return round_up(problem.c / problem.groups * channel_step(problem), line);
  }
};

}  // namespace lenslet
