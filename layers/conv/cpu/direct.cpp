// Direct convolution on the CPU, for every shape, bias and a rectifier fused.
//
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw]
//   x [N, C, H, W], w [K, C/G, R, S], y [N, K, P, Q]; x and y NCHW or NHWC, by the problem's layout
//
// The output plane is treated as one line. With i = p * pitch + q, tap (c, r, s) reads x at i + offset(c, r, s), with
// the same offset for all i, so that vectors of neighbouring positions need no im2col (the idea of M. Cho and D. Brand,
// "MEC: Memory-efficient Convolution for Deep Neural Network", 2017, arXiv:1706.06873, and of the shifted products of
// A. Anderson, A. Vasudevan, C. Keane and D. Gregg, "Low-memory GEMM-based convolution algorithms for deep neural
// networks", 2017, arXiv:1709.03395). Positions between Q and the pitch are computed and dropped. If that costs more
// than partial vectors at row ends, each row is a line of its own; several rows of one vector share a register tile.
//
// Stride, padding and dilation only change the layout: a band of rows is first copied into a padded buffer with one
// plane per residue of the stride. There each tap is a shift again. NHWC uses the same copy: the band is split into
// planes, and finished tiles are interleaved into y. A following max pooling reads finished tiles while they are in the
// cache. The register tile is in layers/gemm/cpu/tile_kernel.h; preparing packs the weights in its order.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/base/shared_loop.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/cpu/direct/pool.h"
#include "layers/conv/cpu/direct/walk.h"
#include "layers/conv/cpu/rows.h"
#include "layers/fp32_only.h"
#include "layers/gemm/cpu/tile_kernel.h"

namespace lenslet {
namespace {

// Below this work a second thread costs more than it saves: one that sleeps, and one that is awake. Both were chosen by
// hand: no file compares other values.
constexpr double kFlopsPerThread = 1.5 * kFlopsPerWokenThread, kFlopsPerAwakeThread = 0.2e6;

class DirectKernel : public ConvKernel {
 public:
  DirectKernel(const ConvPrepare& request)
      : problem_(request.problem),
        walk_(request.problem, request.max_pool),
        after_(request.rectifier),
        max_slots_(num_threads()),
        weights_(pack_weights(request)),
        offsets_(make_offsets()) {
    if (request.max_pool) pooled_.emplace(walk_, *request.max_pool);
    if (request.bias) bias_.assign(request.bias, request.bias + problem_.k);
    const double flops = problem_.flops();
    const double threads = std::min(flops / kFlopsPerAwakeThread, kThreadsBound);
    slots_ = std::clamp<int64_t>(static_cast<int64_t>(threads), 1, max_slots_);
    const int64_t bands = int64_t{problem_.n} * problem_.groups * walk_.bands;
    const int64_t outputs = problem_.k / problem_.groups;
    const int64_t rows = tile_kernels().max_rows, blocks = ceil_div(outputs, rows);
    if (bands < slots_) parts_ = std::min(ceil_div(slots_, bands), blocks);
    part_outputs_ = ceil_div(blocks, parts_) * rows;
    parts_ = ceil_div(outputs, part_outputs_);
    items_ = bands * parts_;
    slots_ = std::min(slots_, items_);
    light_ = flops < kFlopsPerThread * static_cast<double>(slots_);
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(slots_ * walk_.packed_floats(problem_)) * sizeof(float);
  }
  std::string detail() const override { return tile_kernels().isa; }

  void convolve(const ConvArgs& args, RunContext& context) override {
    LoopShares shares;
    shares.items = items_;
    shares.slots = slots_;
    shares.light = light_;
    shared_loop(shares, [&](int64_t slot, int64_t begin, int64_t end) {
      run_items(args, begin, end,
                static_cast<float*>(context.workspace) + slot * walk_.packed_floats(problem_));
    });
  }

 private:
  /// Per group: row blocks of up to eight output channels, each [C/G * R * S, block].
  static std::vector<float> pack_weights(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const int64_t taps = int64_t{problem.c} / problem.groups * problem.r * problem.s;
    const int64_t outputs = problem.k / problem.groups;
    std::vector<float> packed(static_cast<size_t>(problem.k * taps));
    float* out = packed.data();
    for (int64_t k = 0; k < problem.k;) {
      const int block = next_row_block(outputs - k % outputs);
      for (int64_t t = 0; t < taps; ++t) {
        for (int j = 0; j < block; ++j) *out++ = request.weights[(k + j) * taps + t];
      }
      k += block;
    }
    return packed;
  }

  /// Offset of tap (c, r, s) from position 0 of a band.
  std::vector<int64_t> make_offsets() const {
    const Conv2dProblem& problem = problem_;
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < problem.c / problem.groups; ++c) {
      for (int64_t r = 0; r < problem.r; ++r) {
        for (int64_t s = 0; s < problem.s; ++s) {
          const int64_t row = r * problem.dilation_h, column = s * problem.dilation_w;
          int64_t offset = c * walk_.channel_step(problem);
          if (walk_.packed) {
            const int64_t residue = row % problem.stride_h * problem.stride_w + column % problem.stride_w;
            offset += (residue * walk_.band_rows + row / problem.stride_h) * walk_.pitch +
                      column / problem.stride_w;
          } else {
            offset += row * problem.w + column;
          }
          offsets.push_back(offset);
        }
      }
    }
    return offsets;
  }

  void run_items(const ConvArgs& args, int64_t begin, int64_t end, float* memory) const {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t part = item % parts_, bands = item / parts_;
      const int64_t band = bands % walk_.bands, group = bands / walk_.bands % problem_.groups;
      run_band(args, {bands / walk_.bands / problem_.groups, group, band, part * part_outputs_}, memory);
    }
  }

  /// What is computed at a time: of one band of one image the part of a group's outputs from `first_output` on.
  struct Item {
    int64_t n, group, band, first_output;
  };
  void run_band(const ConvArgs& args, const Item& item, float* memory) const {
    const int64_t n = item.n, group = item.group, band = item.band;
    const PositionRange windows = band_windows(band);
    const int64_t first = pooled_ ? pooled_->rows_under(windows).first : band * walk_.rows;
    const int64_t end = pooled_ ? pooled_->rows_under(windows).end : std::min(first + walk_.rows, walk_.p);
    const int64_t rows = end - first;
    const int64_t channels = problem_.c / problem_.groups, outputs = problem_.k / problem_.groups;
    const bool nhwc = problem_.layout == TensorLayout::kNhwc;
    const int64_t plane = int64_t{problem_.h} * problem_.w;
    const float* image = args.x + n * problem_.c * plane + group * channels * (nhwc ? 1 : plane);
    const float* line = image + first * walk_.pitch;
    if (walk_.packed) {
      pack_band(image, first, rows, memory);
      line = memory;
    }
    const auto taps = static_cast<int64_t>(offsets_.size());
    TileArgs tile;
    tile.offsets = offsets_.data();
    tile.taps = taps;
    tile.after = after_;
    const int64_t end_output = std::min(item.first_output + part_outputs_, outputs);
    for (int64_t j = item.first_output; j < end_output;) {
      const int block = next_row_block(outputs - j);
      const int64_t k = group * outputs + j;
      tile.a = weights_.data() + k * taps;
      tile.bias = bias_.empty() ? nullptr : bias_.data() + k;
      if (pooled_) {
        const int64_t plane_windows = pooled_->rows() * pooled_->columns();
        float* y = args.y + n * problem_.k * plane_windows + k * (nhwc ? 1 : plane_windows);
        pooled_->run(tile, block, {line, first, windows}, y, nhwc ? 1 : plane_windows, nhwc ? problem_.k : 1);
        j += block;
        continue;
      }
      if (nhwc) {
        run_woven(tile, block, line, args.y + (n * walk_.p + first) * walk_.q * problem_.k + k, rows);
        j += block;
        continue;
      }
      float* y = args.y + ((n * problem_.k + k) * walk_.p + first) * walk_.q;
      if (walk_.by_row || walk_.pitch == walk_.q || rows == 1) {
        run_in_place(tile, block, line, y, rows);
      } else {
        run_with_gaps(tile, block, line, y, rows);
      }
      j += block;
    }
  }

  /// Rows of windows of a band; none without pooling.
  PositionRange band_windows(int64_t band) const {
    if (!pooled_) return {};
    return {band * walk_.band_windows, std::min((band + 1) * walk_.band_windows, pooled_->rows())};
  }

  /// Writes results directly to y, whose rows are lines of the tile, or one line if they have no gaps.
  void run_in_place(TileArgs tile, int block, const float* line, float* y, int64_t rows) const {
    const bool one_line = walk_.pitch == walk_.q;
    tile.out_step = walk_.p * walk_.q;
    tile.count = one_line ? rows * walk_.q : walk_.q;
    tile.lines = one_line ? 1 : rows;
    tile.b_line = walk_.pitch;
    tile.out_line = walk_.q;
    tile.b = line;
    tile.out = y;
    tile_kernels().run[block](tile);
  }

  /// Computes the rows of the band as one line, then copies each row's part to y.
  void run_with_gaps(TileArgs tile, int block, const float* line, float* y, int64_t rows) const {
    alignas(64) float sums[TileKernels::kMaxRows * kMaxPositions];
    tile.count = (rows - 1) * walk_.pitch + walk_.q;
    tile.b = line;
    tile.out = sums;
    tile.out_step = kMaxPositions;
    tile_kernels().run[block](tile);
    for (int j = 0; j < block; ++j) {
      for (int64_t row = 0; row < rows; ++row) {
        copy_row(sums + j * kMaxPositions + row * walk_.pitch, walk_.q, y + (j * walk_.p + row) * walk_.q);
      }
    }
  }

  /// NHWC: computes tiles of as many positions as fit, then copies each row's part to every K-th element of y.
  void run_woven(TileArgs tile, int block, const float* line, float* y, int64_t rows) const {
    alignas(64) float sums[TileKernels::kMaxRows * kMaxPositions];
    tile.out = sums;
    tile.out_step = kMaxPositions;
    const int64_t lines = walk_.by_row ? rows : 1;
    const int64_t length = walk_.by_row ? walk_.q : (rows - 1) * walk_.pitch + walk_.q;
    for (int64_t l = 0; l < lines; ++l) {
      for (int64_t begin = 0; begin < length; begin += kMaxPositions) {
        tile.count = std::min(kMaxPositions, length - begin);
        tile.b = line + l * walk_.pitch + begin;
        tile_kernels().run[block](tile);
        weave(sums, block, l * walk_.pitch + begin, tile.count, y);
      }
    }
  }

  /// Positions [begin, begin + count) of the band's line, those between Q and the pitch dropped.
  void weave(const float* sums, int block, int64_t begin, int64_t count, float* y) const {
    for (int64_t i = 0; i < count;) {
      const int64_t row = (begin + i) / walk_.pitch, column = (begin + i) % walk_.pitch;
      const int64_t run = std::min(walk_.pitch - column, count - i);  // to the end of the row
      const int64_t kept = std::clamp<int64_t>(walk_.q - column, 0, run);
      float* out = y + (row * walk_.q + column) * problem_.k;
      if (block == 3 && problem_.k == 3) {  // RGB: compile-time step
        for (int64_t at = 0; at < kept; ++at) {
          for (int64_t j = 0; j < 3; ++j) out[at * 3 + j] = sums[j * kMaxPositions + i + at];
        }
      } else {
        for (int j = 0; j < block; ++j) {
          for (int64_t at = 0; at < kept; ++at) out[at * problem_.k + j] = sums[j * kMaxPositions + i + at];
        }
      }
      i += run;
    }
  }

  /// Padded input rows that the band needs, zeros outside:
  /// [channel][row residue][column residue][band_rows][pitch].
  void pack_band(const float* image, int64_t first, int64_t rows, float* out) const {
    const Conv2dProblem& problem = problem_;
    const int64_t halo = walk_.band_rows - walk_.rows;
    const bool nhwc = problem.layout == TensorLayout::kNhwc;
    const int64_t row_step = int64_t{problem.w} * (nhwc ? problem.c : 1);
    for (int64_t c = 0; c < problem.c / problem.groups; ++c) {
      const float* plane = image + c * (nhwc ? 1 : int64_t{problem.h} * problem.w);
      for (int64_t row_residue = 0; row_residue < problem.stride_h; ++row_residue) {
        for (int64_t column_residue = 0; column_residue < problem.stride_w; ++column_residue) {
          if (!read_by_a_tap(row_residue, problem.down()) ||
              !read_by_a_tap(column_residue, problem.across())) {
            out += walk_.band_rows * walk_.pitch;  // such as three of four with a 1x1 filter of stride 2
            continue;
          }
          const Cells cells = cells_of(column_residue);
          for (int64_t i = 0; i < rows + halo; ++i) {
            const int64_t row = (first + i) * problem.stride_h + row_residue - problem.pad_h;
            pack_row(row < 0 || row >= problem.h ? nullptr : plane + row * row_step, cells,
                     out + i * walk_.pitch);
          }
          out += walk_.band_rows * walk_.pitch;
        }
      }
    }
  }

  static bool read_by_a_tap(int64_t residue, const WindowDirection& window) {
    for (int64_t tap = 0; tap < std::min(window.size, window.stride); ++tap) {
      if (tap * window.dilation % window.stride == residue) return true;
    }
    return false;
  }

  /// Cells column_residue, column_residue + stride, … of a padded row: zeros but for those `inside`, the first of which
  /// is at column `start + inside.first * stride` of the image. Computed once: divisions take longer than a short row.
  struct Cells {
    int64_t start;
    PositionRange inside;
  };
  Cells cells_of(int64_t column_residue) const {
    const int64_t start = column_residue - problem_.pad_w;
    return {start, windows_inside(problem_.w, start, problem_.stride_w, {0, walk_.pitch})};
  }

  /// Copies the cells of one padded row; zeros for a row outside the image (null).
  void pack_row(const float* row, const Cells& cells, float* out) const {
    const int64_t stride = problem_.stride_w;
    const auto [first, end] = cells.inside;
    if (!row || first == end) return zero_row(out, walk_.pitch);
    if (first > 0) zero_row(out, first);
    if (end < walk_.pitch) zero_row(out + end, walk_.pitch - end);
    const int64_t cell = problem_.layout == TensorLayout::kNhwc ? problem_.c : 1, step = stride * cell;
    const float* from = row + (cells.start + first * stride) * cell;
    copy_every(step, from, end - first, out + first);
  }

  Conv2dProblem problem_;
  Walk walk_;
  Rectifier after_;
  int64_t max_slots_;
  int64_t slots_ = 1;         // threads
  bool light_ = false;        // too little work to wake them
  int64_t parts_ = 1;         // of the outputs of a band, where there are fewer bands than threads
  int64_t part_outputs_ = 0;  // whole row blocks
  int64_t items_ = 0;
  std::vector<float> weights_;
  std::vector<int64_t> offsets_;  // [C/G * R * S]
  std::vector<float> bias_;       // [K] or empty
  std::optional<PooledTiles> pooled_;
};

class DirectBackend : public ConvBackend {
 public:
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    return static_cast<size_t>(num_threads() * Walk(problem).packed_floats(problem)) * sizeof(float);
  }
  Support fuses_max_pool(const Conv2dProblem& problem, MathMode /*math*/,
                         const Pool2dWindow& window) const override {
    if (const Support supported = supports(problem, MathMode::kFp32); !supported) return supported;
    if (const Support fits = windows_fit(problem, window); !fits) return fits;
    if (int64_t{window.r} * window.s > kMaxPositions) {
      return Support::no(concat("direct pools windows of up to ", kMaxPositions,
                                " outputs on the CPU, found ", window.r, "x", window.s, kLeavePooling));
    }
    const Walk walk(problem), pooled(problem, window);
    if (pooled.packed && pooled.rows > walk.rows) {
      return Support::no(concat("direct keeps ", walk.rows,
                                " rows of this problem in the cache, a window needs ", window.r,
                                kLeavePooling));
    }
    return Support::yes();
  }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (!Walk::fits(problem)) {
      return Support::no(
          concat("direct on the CPU takes padded images of fewer than 2^31 elements per group, in "
                 "whole strides, found ",
                 Walk::packed_elements(problem), ": make the image or its padding smaller"));
    }
    return fp32_only("direct on the CPU", math);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<DirectKernel>(request);
  }
};

}  // namespace

LENSLET_BACKEND(conv, cpu_direct, DirectBackend())

}  // namespace lenslet
