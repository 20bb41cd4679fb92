// Selection of the tile kernel's variant for a problem, the work of one block, and the launch.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "layers/conv/gpu/direct/launch.cuh"
#include "layers/conv/gpu/direct/tile.cuh"

namespace lenslet {

struct TileVariant {
  int r, s, stride, k_out, rows, columns;
  bool pool;        // maxima of 2x2
  double overhead;  // cost of a multiply-add with its share of the reads, relative to one that reads nothing
  void (*kernel)(DirectTileShape, const float*, const float*, const float*, float*);
};

template <int R, int S, int kStride, int kOut, int kRows, int kColumns, bool kPool = false>
constexpr TileVariant tile_variant() {
  // For a row of the filter: float4 reads of inputs and of weights, each worth four multiply-adds of issue time.
  constexpr double kReads = kRows * (((kColumns - 1) * kStride + S + 3) / 4) + S * ((kOut + 3) / 4);
  constexpr double kOverhead = 1 + 4 * kReads / (S * kOut * kRows * kColumns);
  return {R,     S,         kStride,
          kOut,  kRows,     kColumns,
          kPool, kOverhead, &conv_direct_tile_kernel<R, S, kStride, kOut, kRows, kColumns, kPool>};
}

inline constexpr TileVariant kTileVariants[] = {
    tile_variant<5, 5, 1, 4, 2, 4>(),       tile_variant<5, 5, 1, 8, 1, 4>(),
    tile_variant<5, 5, 1, 2, 1, 4>(),       tile_variant<3, 3, 1, 8, 2, 4>(),
    tile_variant<3, 3, 1, 8, 1, 4>(),       tile_variant<3, 3, 1, 2, 1, 4>(),
    tile_variant<3, 3, 2, 8, 2, 4>(),       tile_variant<3, 3, 2, 8, 1, 4>(),
    tile_variant<3, 3, 2, 2, 1, 4>(),       tile_variant<5, 5, 1, 4, 2, 4, true>(),
    tile_variant<5, 5, 1, 2, 2, 4, true>(), tile_variant<3, 3, 1, 8, 2, 4, true>(),
    tile_variant<3, 3, 1, 2, 2, 4, true>(), tile_variant<3, 3, 2, 8, 2, 4, true>(),
    tile_variant<3, 3, 2, 2, 2, 4, true>(),
};

constexpr double kBusyThreads = 256;  // two warps for each scheduler keep its multiply-add pipe fed

/// The variant that needs the fewest instructions, including padding of K, P and Q; a variant that gives some
/// multiprocessors fewer than kBusyThreads pays for the idle ones. Null if none supports the problem.
inline const TileVariant* choose_tile_variant(const ConvPrepare& request, int multiprocessor_count) {
  const Conv2dProblem& problem = request.problem;
  if (!is_plain(problem) || (request.max_pool && !request.max_pool->is_halving())) return nullptr;
  const TileVariant* best = nullptr;
  double best_cost = INFINITY;
  for (const TileVariant& variant : kTileVariants) {
    if (variant.r != problem.r || variant.s != problem.s || variant.stride != problem.stride_h ||
        variant.pool != request.max_pool.has_value()) {
      continue;
    }
    const double threads = static_cast<double>(ceil_div(problem.k, variant.k_out)) * problem.n *
                           ceil_div(problem.p(), variant.rows) * ceil_div(problem.q(), variant.columns);
    const double busy = std::min(1.0, threads / (kBusyThreads * multiprocessor_count));
    const double cost = threads * variant.k_out * variant.rows * variant.columns * variant.overhead / busy;
    if (cost < best_cost) {
      best_cost = cost;
      best = &variant;
    }
  }
  return best;
}

class DirectTile : public OneLaunchConv<DirectTileShape, const float*, const float*, const float*, float*> {
 public:
  DirectTile(const ConvPrepare& request, const TileVariant& variant, int multiprocessor_count)
      : variant_(variant) {
    const Conv2dProblem& problem = request.problem;
    divide(problem, multiprocessor_count);
    detail_ = concat("tile, ", variant_.rows, "x", variant_.columns, " positions x ", variant_.k_out,
                     " filters per thread, ", launch_.shared_bytes(), " bytes shared",
                     variant_.pool ? ", pooled 2x2" : "");
    shape_.relu = request.rectifier.relu();
    // [K, C, R, S] to [K tiles, chunks, filter groups, chunk, R, S, k_out]: what a block stages lies together, and the
    // weights of one tap for one thread.
    const int64_t window = int64_t{problem.r} * problem.s, width = tile_filters(), k_out = variant_.k_out;
    const int64_t chunks = ceil_div(problem.c, shape_.chunk), chunk_floats = shape_.chunk * window * width;
    std::vector<float> packed(static_cast<size_t>(filter_tiles_ * chunks * chunk_floats), 0.0f);
    for (int64_t k = 0; k < problem.k; ++k) {
      const int64_t group = k % width / k_out, lane = k % k_out;
      for (int64_t c = 0; c < problem.c; ++c) {
        const int64_t first = (k / width * chunks + c / shape_.chunk) * chunk_floats +
                              (group * shape_.chunk + c % shape_.chunk) * window * k_out + lane;
        for (int64_t i = 0; i < window; ++i) {
          packed[static_cast<size_t>(first + i * k_out)] = request.weights[(k * problem.c + c) * window + i];
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, filter_tiles_ * width);
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, filters_.get(), bias_.get(), args.y);
  }

 private:
  int64_t tile_filters() const { return int64_t{shape_.filter_groups} * variant_.k_out; }

  /// Chooses what one block computes: several small images, or a tile of a large one.
  void divide(const Conv2dProblem& problem, int multiprocessor_count) {
    // A last row or column that no window holds is not computed.
    const int p = variant_.pool ? problem.p() / 2 * 2 : problem.p();
    const int q = variant_.pool ? problem.q() / 2 * 2 : problem.q();
    const int rows = static_cast<int>(ceil_div(p, variant_.rows));
    const int columns = static_cast<int>(ceil_div(q, variant_.columns));
    const int64_t all_threads = ceil_div(problem.k, variant_.k_out) * problem.n * rows * columns;
    int budget = kDirectTileThreads;
    while (budget > 32 && all_threads / budget < 2 * multiprocessor_count) budget /= 2;
    // Two groups of filters share a staged input if there are enough blocks and neither group is empty.
    const bool pair = budget == kDirectTileThreads && ceil_div(problem.k, variant_.k_out) % 2 == 0;
    shape_.filter_groups = pair ? 2 : 1;
    budget /= shape_.filter_groups;
    filter_tiles_ = ceil_div(problem.k, tile_filters());
    // Equal tiles rather than full ones with a thin rest.
    constexpr int kMaxColumnPatches = 8;
    shape_.column_tiles = static_cast<int>(ceil_div(columns, kMaxColumnPatches));
    shape_.column_patches = static_cast<int>(ceil_div(columns, shape_.column_tiles));
    shape_.row_tiles = static_cast<int>(ceil_div(rows, std::max(1, budget / shape_.column_patches)));
    shape_.row_patches = static_cast<int>(ceil_div(rows, shape_.row_tiles));
    const int patches = shape_.row_patches * shape_.column_patches;
    const bool whole_plane = shape_.column_tiles == 1 && shape_.row_tiles == 1;
    shape_.images = whole_plane ? std::clamp(budget / patches, 1, problem.n) : 1;

    const int read_columns =
        static_cast<int>(round_up((variant_.columns - 1) * variant_.stride + variant_.s, 4));
    shape_.tile_h = (shape_.row_patches * variant_.rows - 1) * variant_.stride + variant_.r;
    shape_.pitch = (shape_.column_patches - 1) * variant_.columns * variant_.stride + read_columns;
    const size_t filter_floats = static_cast<size_t>(variant_.r * variant_.s * tile_filters());
    const size_t tile_floats = size_t{1} * shape_.images * shape_.tile_h * shape_.pitch;
    const size_t channel_bytes = (tile_floats + filter_floats) * sizeof(float);
    const int fitting = static_cast<int>(GpuLimits::kSharedBytes / channel_bytes);
    const int64_t image_floats = int64_t{problem.c} * problem.h * problem.w;
    shape_.contiguous = whole_plane && fitting >= problem.c && shape_.tile_h == problem.h &&
                        shape_.pitch == problem.w && problem.pad_h == 0 && problem.pad_w == 0 &&
                        image_floats % 4 == 0;
    // Beyond eight channels a longer stage costs occupancy and saves little waiting.
    constexpr int kMaxChunk = 8;
    shape_.chunk = shape_.contiguous ? problem.c : std::min({problem.c, fitting, kMaxChunk});

    set_unit_stride_sizes(shape_, problem);
    shape_.n = problem.n;
    shape_.p = p;
    shape_.q = q;
    shape_.lanes = 8;
    while (shape_.lanes < 32 && shape_.lanes < shape_.pitch) shape_.lanes *= 2;
    shape_.by_images = FastDivide(shape_.images);
    shape_.by_column_patches = FastDivide(shape_.column_patches);
    shape_.by_row_patches = FastDivide(shape_.row_patches);
    shape_.by_tile_h = FastDivide(shape_.tile_h);
    shape_.by_chunk = FastDivide(shape_.chunk);
    shape_.by_row_tiles = FastDivide(shape_.row_tiles);
    shape_.by_column_tiles = FastDivide(shape_.column_tiles);
    shape_.vector_store = q % 4 == 0;
    // At least two warps, so that staging has enough threads even if few of them compute.
    const int64_t threads = round_up(int64_t{shape_.filter_groups} * shape_.images * patches, 32);
    const int64_t blocks = ceil_div(problem.n, shape_.images) * shape_.row_tiles * shape_.column_tiles;
    launch_ = {"conv_direct_tile_kernel", variant_.kernel,
               dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(filter_tiles_)),
               static_cast<unsigned>(std::max<int64_t>(64, threads)),
               channel_bytes * static_cast<size_t>(shape_.chunk)};
  }

  TileVariant variant_;
  DirectTileShape shape_{};
  int64_t filter_tiles_ = 0;
  std::shared_ptr<float> filters_, bias_;
};

/// The launch for a problem, pooled or not; null if tiles do not support it.
inline std::unique_ptr<ConvKernel> prepare_tile(const ConvPrepare& request, int multiprocessor_count) {
  const TileVariant* const variant = choose_tile_variant(request, multiprocessor_count);
  if (!variant) return nullptr;
  return std::make_unique<DirectTile>(request, *variant, multiprocessor_count);
}

}  // namespace lenslet
