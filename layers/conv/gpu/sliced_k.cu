// Direct convolution for few outputs, on the GPU:
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw]
//
// x [N, C, H, W], w [K, C/G, R, S], b [K], y [N, K, P, Q], fp32 products and sums. No workspace. A block adds the
// channels of an output in up to 32 slices at once. At batch 1 no thread then adds a long sum, and all loads are issued
// first. CUTLASS calls a sum over K that is split inside a block sliced-K ("Efficient GEMM in CUDA", section
// "Sliced-K"); split-K divides it between blocks.
// From compute capability 9.0 on a launch begins while the previous one still runs, and copies its weights meanwhile
// (CUDA C++ Programming Guide, "Programmatic dependent launch").
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "framework/base/integer_math.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"
#include "layers/conv/gpu/sliced_k/kernel.cuh"

namespace lenslet {
namespace {

/// What a block computes: 1 << pixel_bits positions of `filters` filters.
struct Block {
  int pixel_bits, filters;
};
/// In the order of preference: more outputs of a block read each input and weight less often.
constexpr std::array<Block, 6> kBlocks = {{{5, 8}, {4, 8}, {5, 4}, {4, 4}, {3, 8}, {3, 4}}};
constexpr Block kMinBlock = kBlocks.back();

using Kernel = void (*)(SlicedKShape, const float*, const float*, const float*, float*);

template <int kWindow>
Kernel kernel_of(int filters) {
  return filters == 4 ? &conv_sliced_k_kernel<kWindow, 4> : &conv_sliced_k_kernel<kWindow, 8>;
}
Kernel kernel_for(const Conv2dProblem& problem, int filters) {
  const bool dense_square = problem.r == problem.s && problem.dilation_h == 1 && problem.dilation_w == 1;
  switch (dense_square ? problem.r : 0) {
    case 1:
      return kernel_of<1>(filters);
    case 3:
      return kernel_of<3>(filters);
    case 5:
      return kernel_of<5>(filters);
    case 7:
      return kernel_of<7>(filters);
    default:
      return kernel_of<0>(filters);
  }
}

/// How the positions of an image are divided into tiles, and what of a channel a tile reads.
struct Tile {
  int column_bits = 0;
  int64_t row_tiles = 0, column_tiles = 0;
  int64_t pitch = 0, staged = 0;

  Tile(const Conv2dProblem& problem, const Block& block, int bits, bool pool) : column_bits(bits) {
    // A last row or column that no window holds is not computed.
    const int p = pool ? problem.p() / 2 * 2 : problem.p(), q = pool ? problem.q() / 2 * 2 : problem.q();
    const int64_t rows = int64_t{1} << (block.pixel_bits - bits), columns = int64_t{1} << bits;
    row_tiles = ceil_div(p, rows);
    column_tiles = ceil_div(q, columns);
    pitch = (columns - 1) * problem.stride_w + int64_t{problem.s - 1} * problem.dilation_w + 1;
    const int64_t tile_rows = (rows - 1) * problem.stride_h + int64_t{problem.r - 1} * problem.dilation_h + 1;
    staged = round_up(tile_rows * pitch, 4);  // so that weights after it are aligned
  }
  int64_t tiles() const { return row_tiles * column_tiles; }
};

/// The tile that wastes the fewest positions; of equal ones the widest, whose lanes read neighbouring inputs.
Tile tile_of(const Conv2dProblem& problem, const Block& block, bool pool) {
  const int min_bits = pool ? 1 : 0;  // a tile of whole 2x2 windows
  Tile best(problem, block, block.pixel_bits - min_bits, pool);
  for (int bits = block.pixel_bits - min_bits - 1; bits >= min_bits; --bits) {
    const Tile tile(problem, block, bits, pool);
    if (tile.tiles() < best.tiles()) best = tile;
  }
  return best;
}

/// The most bytes that a warp stages of a channel with any tile. A pooling needs another tile, but with the same number
/// it changes neither the slices nor the order of a sum.
int64_t channel_bytes(const Conv2dProblem& problem, const Block& block) {
  int64_t staged = 0;
  for (int bits = 0; bits <= block.pixel_bits; ++bits)
    staged = std::max(staged, Tile(problem, block, bits, false).staged);
  return (int64_t{problem.r} * problem.s * block.filters + staged) * static_cast<int64_t>(sizeof(float));
}

/// The slices of a sum: warps, and the channels that each stages at a time.
struct Slices {
  int warps = 0, warp_channels = 0, round = 0, stages = 1;
};

/// A warp for each channel, up to kSlicedKMaxWarps, or fewer if the shared memory is too small for all. Null if it is
/// too small for one warp.
std::optional<Slices> slices_of(const Conv2dProblem& problem, const Block& block) {
  const int64_t bytes = channel_bytes(problem, block);
  const int channels = problem.c / problem.groups, lanes = GpuLimits::kWarp >> block.pixel_bits;
  for (int warps = std::min(kSlicedKMaxWarps, channels); warps > 0; --warps) {
    Slices slices;
    slices.warps = warps;
    slices.warp_channels = static_cast<int>(ceil_div(channels, warps));
    const int64_t fitting = GpuLimits::kSharedBytes / (warps * bytes);
    if (slices.warp_channels <= fitting) {
      slices.round = slices.warp_channels;
      return slices;
    }
    // Two stages. A round that is a multiple of the lanes' slices gives a channel to the same lanes whatever the round.
    slices.stages = 2;
    slices.round = static_cast<int>(fitting / 2 / lanes * lanes);
    if (slices.round > 0) return slices;
  }
  return std::nullopt;
}

/// How a problem is divided. The order of a sum depends on one image alone, so that its bits do too.
struct Division {
  Block block;
  Tile tile;
  Slices slices;
  int64_t filter_tiles;  // of all groups

  int64_t blocks(int images) const { return images * tile.tiles() * filter_tiles; }
};

std::optional<Division> division_of(const Conv2dProblem& problem, const Block& block, bool pool) {
  const Tile tile = tile_of(problem, block, pool);
  const std::optional<Slices> slices = slices_of(problem, block);
  if (!slices) return std::nullopt;
  return Division{block, tile, *slices, problem.groups * ceil_div(problem.k / problem.groups, block.filters)};
}

/// The first of kBlocks that splits one image into blocks for two fifths of the multiprocessors, else the smallest. The
/// share is chosen by hand. For several images the block takes 8 filters if the batch still has enough blocks and the
/// order of a sum stays the same. Counts the whole plane, even if a pooling drops its end.
Block choose_block(const Conv2dProblem& problem, int multiprocessors) {
  const auto enough = [multiprocessors](const Division& division, int images) {
    return 5 * division.blocks(images) >= 2 * int64_t{multiprocessors};
  };
  Division chosen = division_of(problem, kMinBlock, false).value();
  for (const Block& block : kBlocks) {
    const std::optional<Division> division = division_of(problem, block, false);
    if (!division || !enough(*division, 1)) continue;
    chosen = *division;
    break;
  }
  if (chosen.block.filters == 8) return chosen.block;
  const std::optional<Division> wider = division_of(problem, {chosen.block.pixel_bits, 8}, false);
  const bool same_order = wider && wider->slices.warps == chosen.slices.warps;
  return (same_order && enough(*wider, problem.n) ? *wider : chosen).block;
}

class SlicedK : public OneLaunchConv<SlicedKShape, const float*, const float*, const float*, float*> {
 public:
  explicit SlicedK(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const Block block = choose_block(problem, multiprocessor_count(request.stream.device()));
    const Division division = division_of(problem, block, request.max_pool.has_value()).value();
    set_sizes(request, division);
    pack(request, division);
    const Slices& slices = division.slices;
    const int64_t stage =
        slices.round * (int64_t{problem.r} * problem.s * block.filters + division.tile.staged);
    const int64_t floats =
        slices.warps * std::max(slices.stages * stage, int64_t{GpuLimits::kWarp} * block.filters);
    launch_ = {"conv_sliced_k_kernel", kernel_for(problem, division.block.filters),
               dim3(static_cast<unsigned>(problem.n * division.tile.tiles()),
                    static_cast<unsigned>(division.filter_tiles)),
               static_cast<unsigned>(division.slices.warps * GpuLimits::kWarp),
               static_cast<size_t>(floats) * sizeof(float)};
    detail_ = concat(1 << division.block.pixel_bits, " positions x ", division.block.filters,
                     " filters per block, ",
                     division.slices.warps * (GpuLimits::kWarp >> division.block.pixel_bits), " slices, ",
                     launch_.shared_bytes(), " bytes shared", request.max_pool ? ", pooled 2x2" : "");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_.early(context.stream, shape_, args.x, filters_.get(), bias_.get(), args.y);
  }

 private:
  void set_sizes(const ConvPrepare& request, const Division& division) {
    const Conv2dProblem& problem = request.problem;
    set_all_sizes(shape_, problem);
    shape_.group_channels = problem.c / problem.groups;
    shape_.group_filters = problem.k / problem.groups;
    shape_.pixel_bits = division.block.pixel_bits;
    shape_.column_bits = division.tile.column_bits;
    shape_.warps = division.slices.warps;
    shape_.warp_channels = division.slices.warp_channels;
    shape_.round = division.slices.round;
    shape_.stages = division.slices.stages;
    shape_.pitch = static_cast<int>(division.tile.pitch);
    shape_.staged = static_cast<int>(division.tile.staged);
    shape_.by_pitch = FastDivide(shape_.pitch);
    shape_.by_column_tiles = FastDivide(static_cast<int>(division.tile.column_tiles));
    shape_.by_row_tiles = FastDivide(static_cast<int>(division.tile.row_tiles));
    shape_.by_filter_tiles = FastDivide(static_cast<int>(division.filter_tiles / problem.groups));
    shape_.pool = request.max_pool.has_value();
    shape_.after = request.rectifier;
  }
  /// [G, K/G, C/G, R, S] to [G, filter tiles, C/G, R, S, filters].
  void pack(const ConvPrepare& request, const Division& division) {
    const Conv2dProblem& problem = request.problem;
    const int64_t filters = division.block.filters, tiles = division.filter_tiles / problem.groups;
    const int64_t taps = int64_t{shape_.group_channels} * problem.r * problem.s;
    std::vector<float> packed(static_cast<size_t>(division.filter_tiles * taps * filters), 0.0f);
    for (int64_t k = 0; k < problem.k; ++k) {
      const int64_t filter = k % shape_.group_filters;
      const int64_t tile = k / shape_.group_filters * tiles + filter / filters;
      for (int64_t i = 0; i < taps; ++i) {
        packed[static_cast<size_t>((tile * taps + i) * filters + filter % filters)] =
            request.weights[k * taps + i];
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, tiles * filters);
  }

  SlicedKShape shape_{};
  std::shared_ptr<float> filters_, bias_;
};

class SlicedKBackend : public SummingBackend {
 public:
  Support fuses_max_pool(const Conv2dProblem& problem, MathMode /*math*/,
                         const Pool2dWindow& window) const override {
    if (const Support touch = windows_fit(problem, window); !touch) return touch;
    if (!window.is_halving()) {
      return Support::no(concat("sliced_k pools 2x2 windows with stride 2, found ", window.r, "x", window.s,
                                " with stride ", window.stride_h, "x", window.stride_w, ": use direct"));
    }
    return fits(problem, true);
  }
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }
  /// Few outputs. With more, every multiprocessor has work, and other backends read a value once for several outputs.
  /// The limit, chosen by hand, is about half as many outputs as 132 multiprocessors hold threads (132 * 2,048).
  bool suits(const Conv2dProblem& problem, MathMode /*math*/) const override {
    constexpr int64_t kFewOutputs = int64_t{1} << 17;
    return problem.groups == 1 && problem.output_shape().num_elements() <= kFewOutputs;
  }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("sliced_k", math); !fp32) return fp32;
    if (const Support nchw = nchw_only("sliced_k", problem); !nchw) return nchw;
    if (const Support limits = own_kernel_limits("sliced_k", problem); !limits) return limits;
    return fits(problem, false);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<SlicedK>(request);
  }
  /// Whether the smallest block, of which there are most, fits the shared memory and the grid.
  static Support fits(const Conv2dProblem& problem, bool pool) {
    const Tile tile = tile_of(problem, kMinBlock, pool);
    if (!slices_of(problem, kMinBlock)) {
      const int at_once =
          std::min(problem.c / problem.groups, 2 * (GpuLimits::kWarp >> kMinBlock.pixel_bits));
      return Support::no(concat("sliced_k would need ", channel_bytes(problem, kMinBlock),
                                " bytes of shared memory for a channel, the limit is ",
                                GpuLimits::kSharedBytes / at_once, ": use direct"));
    }
    const int64_t filter_tiles = problem.groups * ceil_div(problem.k / problem.groups, kMinBlock.filters);
    if (filter_tiles > GpuLimits::kGridYZ) {
      return Support::no(concat("sliced_k would need ", filter_tiles, " rows of thread blocks, the limit is ",
                                GpuLimits::kGridYZ, ": use direct"));
    }
    if (problem.n * tile.tiles() > GpuLimits::kGridX) {
      return Support::no(concat("sliced_k would need ", problem.n * tile.tiles(),
                                " thread blocks in a row, the limit is ", GpuLimits::kGridX,
                                ": use a smaller batch"));
    }
    return Support::yes();
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_sliced_k, SlicedKBackend())

}  // namespace lenslet
