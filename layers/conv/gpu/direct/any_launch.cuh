// Tiling and launches of the kernels of direct/any.cuh, without and with a fused max pooling.
#pragma once

#include <memory>
#include <vector>

#include "layers/conv/gpu/direct/any.cuh"
#include "layers/conv/gpu/direct/launch.cuh"

namespace lenslet {

inline int any_filters_per_thread(const Conv2dProblem& problem) {
  return problem.k / problem.groups == 1 ? 1 : 4;
}

/// Tiles of filters, of all groups together.
inline int64_t any_filter_tiles(const Conv2dProblem& problem) {
  return ceil_div(problem.k / problem.groups, any_filters_per_thread(problem)) * problem.groups;
}

inline int64_t any_blocks(const Conv2dProblem& problem) {
  const int64_t pixels = int64_t{problem.n} * problem.p() * problem.q();
  return ceil_div(pixels, kDirectAnyThreads) * any_filter_tiles(problem);
}

/// The arguments of both kernels: the problem, and its filters in their layout.
class DirectAnyFilters {
 public:
  explicit DirectAnyFilters(const ConvPrepare& request) : k_out_(any_filters_per_thread(request.problem)) {
    const Conv2dProblem& problem = request.problem;
    const int group_filters = problem.k / problem.groups, group_channels = problem.c / problem.groups;
    const int tiles = static_cast<int>(ceil_div(group_filters, k_out_));
    set_all_sizes(shape_, problem);
    shape_.group_channels = group_channels;
    shape_.group_filters = group_filters;
    shape_.pixels = problem.n * shape_.p * shape_.q;
    shape_.filter_tiles = tiles;
    shape_.by_q = FastDivide(shape_.q);
    shape_.by_p = FastDivide(shape_.p);
    shape_.by_filter_tiles = FastDivide(tiles);
    shape_.by_all_filter_tiles = FastDivide(tiles * problem.groups);
    shape_.relu = request.rectifier.relu();
    // [G, K/G, C/G, R, S] to [G, tiles, C/G, R, S, k_out].
    const int64_t taps = int64_t{group_channels} * problem.r * problem.s;
    const int64_t all_tiles = any_filter_tiles(problem);
    std::vector<float> packed(static_cast<size_t>(all_tiles * taps * k_out_), 0.0f);
    for (int k = 0; k < problem.k; ++k) {
      const int64_t filter = k % group_filters;
      const int64_t tile = int64_t{k / group_filters} * tiles + filter / k_out_, lane = filter % k_out_;
      for (int64_t i = 0; i < taps; ++i) {
        packed[static_cast<size_t>((tile * taps + i) * k_out_ + lane)] = request.weights[k * taps + i];
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, int64_t{tiles} * k_out_);
  }

 protected:
  int k_out_;
  DirectAnyShape shape_{};
  std::shared_ptr<float> filters_, bias_;
};

/// All outputs, or the maxima of 2x2 of them.
class DirectAny : public OneLaunchConv<DirectAnyShape, const float*, const float*, const float*, float*>,
                  private DirectAnyFilters {
 public:
  explicit DirectAny(const ConvPrepare& request) : DirectAnyFilters(request) {
    const bool pool = request.max_pool.has_value();
    if (pool) {
      shape_.p /= 2;
      shape_.q /= 2;
      shape_.pixels = request.problem.n * shape_.p * shape_.q;
      shape_.by_q = FastDivide(shape_.q);
      shape_.by_p = FastDivide(shape_.p);
    }
    const int64_t blocks = ceil_div(shape_.pixels, kDirectAnyThreads) * any_filter_tiles(request.problem);
    launch_ = {"conv_direct_any_kernel", kernel(pool), static_cast<unsigned>(blocks), kDirectAnyThreads};
    detail_ = concat("any, ", k_out_, " filters per thread", pool ? ", pooled 2x2" : "");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, filters_.get(), bias_.get(), args.y);
  }

 private:
  Launch::Function kernel(bool pool) const {
    if (pool) return k_out_ == 1 ? &conv_direct_any_kernel<1, 2> : &conv_direct_any_kernel<4, 2>;
    return k_out_ == 1 ? &conv_direct_any_kernel<1, 1> : &conv_direct_any_kernel<4, 1>;
  }
};

/// Sums of one window that a block of any GPU can hold.
inline int64_t max_window(const Conv2dProblem& problem) {
  return GpuLimits::kSharedBytes / static_cast<int64_t>(sizeof(float)) / any_filters_per_thread(problem);
}

/// How a pooled plane is divided into tiles of windows.
struct DirectAnyPoolTiles {
  int tile_rows = 1, tile_columns = 1;  // windows of a block
  int64_t row_tiles = 0, column_tiles = 0;

  /// Regions of about kRegion sums, rows of about kAcross; smaller ones if there would be too few blocks for the GPU.
  DirectAnyPoolTiles(const Conv2dProblem& problem, const Pool2dWindow& window, int multiprocessor_count) {
    constexpr int kRegion = 512, kAcross = 32;
    const int64_t rows = window.rows(problem.p()), columns = window.columns(problem.q());
    // As many windows as fit into `room` sums, and no fewer than one.
    const auto fit = [](int room, const WindowDirection& v, int64_t limit) {
      return room < v.size ? 1 : static_cast<int>(std::min<int64_t>((room - v.size) / v.stride + 1, limit));
    };
    tile_columns = fit(kAcross, window.across(), columns);
    tile_rows = fit(kRegion / region_columns(window), window.down(), rows);
    const int64_t wanted = 2 * int64_t{multiprocessor_count};
    for (;;) {
      // Equal tiles rather than full ones with a thin rest.
      row_tiles = ceil_div(rows, tile_rows);
      column_tiles = ceil_div(columns, tile_columns);
      tile_rows = static_cast<int>(ceil_div(rows, row_tiles));
      tile_columns = static_cast<int>(ceil_div(columns, column_tiles));
      const bool fits = region(window) <= max_window(problem);
      if ((fits && blocks(problem) >= wanted) || (tile_rows == 1 && tile_columns == 1)) return;
      int& longer = tile_rows >= tile_columns ? tile_rows : tile_columns;
      longer = (longer + 1) / 2;
    }
  }
  int region_columns(const Pool2dWindow& window) const {
    return (tile_columns - 1) * window.stride_w + window.s;
  }
  int64_t region(const Pool2dWindow& window) const {
    return ((int64_t{tile_rows} - 1) * window.stride_h + window.r) * region_columns(window);
  }
  int64_t blocks(const Conv2dProblem& problem) const {
    return problem.n * row_tiles * column_tiles * any_filter_tiles(problem);
  }
};

class DirectAnyPooled
    : public OneLaunchConv<DirectAnyShape, DirectAnyPool, const float*, const float*, const float*, float*>,
      private DirectAnyFilters {
 public:
  DirectAnyPooled(const ConvPrepare& request, int multiprocessor_count) : DirectAnyFilters(request) {
    const Pool2dWindow& window = *request.max_pool;
    const DirectAnyPoolTiles tiles(request.problem, window, multiprocessor_count);
    pool_ = {window,
             static_cast<int>(window.rows(request.problem.p())),
             static_cast<int>(window.columns(request.problem.q())),
             tiles.tile_rows,
             tiles.tile_columns,
             tiles.region_columns(window),
             static_cast<int>(tiles.region(window)),
             FastDivide(static_cast<int>(tiles.column_tiles)),
             FastDivide(static_cast<int>(tiles.row_tiles)),
             FastDivide(tiles.region_columns(window)),
             FastDivide(tiles.tile_columns),
             FastDivide(tiles.tile_rows * tiles.tile_columns)};
    const size_t shared_bytes = static_cast<size_t>(pool_.region * k_out_) * sizeof(float);
    const bool nhwc = request.problem.layout == TensorLayout::kNhwc;
    launch_ = {"conv_direct_any_pool_kernel",
               nhwc ? kernel<TensorLayout::kNhwc>() : kernel<TensorLayout::kNchw>(),
               static_cast<unsigned>(tiles.blocks(request.problem)), kDirectAnyThreads, shared_bytes};
    detail_ = concat("any, pooled, ", pool_.tile_rows, "x", pool_.tile_columns, " windows of ", k_out_,
                     " filters per block, ", shared_bytes, " bytes shared");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, pool_, args.x, filters_.get(), bias_.get(), args.y);
  }

 private:
  template <TensorLayout kLayout>
  Launch::Function kernel() const {
    return k_out_ == 1 ? &conv_direct_any_pool_kernel<1, kLayout> : &conv_direct_any_pool_kernel<4, kLayout>;
  }

  DirectAnyPool pool_;
};

}  // namespace lenslet
