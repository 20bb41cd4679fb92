// Max pooling inside the direct convolution on the CPU, while its outputs are in the cache. Internal.
//
// One tile of windows at a time: its outputs, of up to eight channels, are computed into a buffer on the stack and
// pooled from there. Outputs in the windows of two tiles are computed for both. Sums and their order are those of the
// kernel that stores every output, so that pooling afterwards gives the same bits.
#pragma once

#include "layers/conv/cpu/direct/walk.h"
#include "layers/pool/cpu/max_pool_part.h"

namespace lenslet {

/// The part of the input line that a band's outputs read.
struct BandLine {
  const float* line = nullptr;  // of output row `first`
  int64_t first = 0;            // output row
  PositionRange windows;        // rows of windows
};

class PooledTiles {
 public:
  PooledTiles(const Walk& walk, const Pool2dWindow& window)
      : walk_(walk), window_(window), rows_(window.rows(walk.p)), columns_(window.columns(walk.q)) {
    // Columns under a row of windows.
    const int64_t whole = (columns_ - 1) * window.stride_w + window.s;
    const int64_t across = walk.by_row ? whole : std::max(walk.pitch, whole);
    tile_rows_ = std::min(fit(kMaxPositions / across, window.r, window.stride_h), rows_);
    tile_columns_ = columns_;
    if (tile_rows_ > 0) return;
    tile_rows_ = 1;
    const int64_t fitting = fit(kMaxPositions / window.r, window.s, window.stride_w);
    tile_columns_ = std::min(fitting, columns_);
  }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  /// The output rows under rows of windows.
  PositionRange rows_under(PositionRange windows) const {
    const int64_t first = windows.first * window_.stride_h - window_.pad_h;
    const int64_t last = (windows.end - 1) * window_.stride_h - window_.pad_h;
    return {std::max<int64_t>(first, 0), std::min(last + window_.r, walk_.p)};
  }
  /// The output columns under columns of windows.
  PositionRange columns_under(PositionRange windows) const {
    const int64_t first = windows.first * window_.stride_w - window_.pad_w;
    const int64_t last = (windows.end - 1) * window_.stride_w - window_.pad_w;
    return {std::max<int64_t>(first, 0), std::min(last + window_.s, walk_.q)};
  }

  /// Pools one block of channels of a band. y: the first channel's plane, channels channel_step apart, windows `step`.
  void run(TileArgs tile, int block, const BandLine& band, float* y, int64_t channel_step,
           int64_t step) const {
    alignas(64) float sums[TileKernels::kMaxRows * kMaxPositions];
    tile.out_step = kMaxPositions;
    for (int64_t row = band.windows.first; row < band.windows.end; row += tile_rows_) {
      for (int64_t column = 0; column < columns_; column += tile_columns_) {
        const WindowRange windows{row, std::min(row + tile_rows_, band.windows.end), column,
                                  std::min(column + tile_columns_, columns_)};
        PlanePart part = compute(tile, block, band, windows, sums);
        for (int j = 0; j < block; ++j, part.values += kMaxPositions) {
          store(part, windows, y + j * channel_step, step);
        }
      }
    }
  }

 private:
  /// Windows that fit into `room` values; 0 if none fits.
  static int64_t fit(int64_t room, int64_t window, int64_t stride) {
    return room < window ? 0 : (room - window) / stride + 1;
  }

  /// The outputs under `windows`, to `sums`.
  PlanePart compute(TileArgs tile, int block, const BandLine& band, const WindowRange& windows,
                    float* sums) const {
    const PositionRange rows = rows_under({windows.first_row, windows.end_row});
    const PositionRange columns = columns_under({windows.first_column, windows.end_column});
    PlanePart part;
    part.values = sums;
    part.h = walk_.p;
    part.w = walk_.q;
    part.row = rows.first;
    part.column = columns.first;
    const float* first = band.line + (rows.first - band.first) * walk_.pitch + columns.first;
    const bool one_line = !walk_.by_row && tile_columns_ == columns_;
    part.pitch = one_line ? walk_.pitch : columns.end - columns.first;
    const int64_t lines = one_line ? 1 : rows.end - rows.first;
    tile.count = columns.end - columns.first;
    if (one_line) tile.count += (rows.end - rows.first - 1) * walk_.pitch;
    tile.lines = lines;
    tile.b_line = walk_.pitch;
    tile.out_line = part.pitch;
    tile.b = first;
    tile.out = sums;
    tile_kernels().run[block](tile);
    return part;
  }

  void store(const PlanePart& part, const WindowRange& windows, float* y, int64_t step) const {
    if (step == 1) {
      max_pool_part(window_, part, windows, y + windows.first_row * columns_ + windows.first_column,
                    columns_);
      return;
    }
    float row_of_y[kMaxPositions];
    const int64_t count = windows.end_column - windows.first_column;
    for (int64_t row = windows.first_row; row < windows.end_row; ++row) {
      max_pool_part(window_, part, {row, row + 1, windows.first_column, windows.end_column}, row_of_y, count);
      float* out = y + (row * columns_ + windows.first_column) * step;
      for (int64_t q = 0; q < count; ++q) out[q * step] = row_of_y[q];
    }
  }

  Walk walk_;
  Pool2dWindow window_;
  int64_t rows_, columns_;            // windows of a plane
  int64_t tile_rows_, tile_columns_;  // windows of a tile
};

}  // namespace lenslet
