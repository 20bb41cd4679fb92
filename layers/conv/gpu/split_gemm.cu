// Implicit GEMM convolution on Hopper and later, fp32 FFMA, whose sums are divided where a problem has few tiles:
//   y [K/G, N*P*Q] = w [K/G, R*S*C/G] x im2col(x) [R*S*C/G, N*P*Q] for each group
//
// implicit_gemm gives a sum to one thread. At batch 1 that leaves multiprocessors without a block, and those that have
// one without enough warps. Here the rows of the im2col matrix are divided between the warps of a block (sliced-K) and
// between the blocks of a cluster (split-K): split_gemm/kernel.cuh. The rows are taken tap by tap, so that the channels
// of a tap need one comparison with the image's edges instead of a table; few channels take implicit_gemm's table.
// S. Chetlur et al., "cuDNN: efficient primitives for deep learning", arXiv:1410.0759 (2014), section 3.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/integer_math.h"
#include "framework/device/cluster_launch.cuh"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/implicit_gemm_host.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"
#include "layers/conv/gpu/split_gemm/kernel.cuh"

namespace lenslet {
namespace {

using SplitGemmFunction = void (*)(SplitGemmShape, const float*, const float*, const float*,
                                   const ImplicitGemmTap*, float*);

struct Variant {
  int block_m, block_n, sliced_k, rows, threads;  // as in SplitGemmTile
  size_t shared_bytes;
  double efficiency;             // of a full multiprocessor, of its peak
  SplitGemmFunction kernels[3];  // by SplitGemmGather
};

template <class Tile>
constexpr Variant variant(double efficiency) {
  return {Tile::kBlockM,
          Tile::kBlockN,
          Tile::kSlicedK,
          Tile::kRows,
          Tile::kThreads,
          Tile::kSharedBytes,
          efficiency,
          {&conv_split_gemm_kernel<Tile, SplitGemmGather::kPointwise>,
           &conv_split_gemm_kernel<Tile, SplitGemmGather::kChannels>,
           &conv_split_gemm_kernel<Tile, SplitGemmGather::kTable>}};
}

// Each has 128 threads. The efficiencies and the figures below were fitted to the times of these three with 1, 2, 4 and
// 8 blocks a cluster, on the problems of layers/conv/problems/resnet50.txt on an H200; no result file has them.
constexpr Variant kVariants[] = {
    //      filters, positions, groups of warps, rows a step, stages; efficiency
    variant<SplitGemmTile<64, 128, 1, 16, 4>>(0.82),
    variant<SplitGemmTile<64, 64, 2, 32, 3>>(0.82),
    variant<SplitGemmTile<64, 32, 4, 32, 3>>(0.8),
};
constexpr int kTableChannels = 16;        // of a group: with fewer the steps of a tap would be half empty
constexpr int kMultiprocessorBlocks = 4;  // SplitGemmTile::kBlocks
constexpr double kMultiplyAdds = 128;     // of a multiprocessor, a clock
constexpr double kBlockClocks = 1180;     // before a block's first step and after its last
constexpr double kClusterClocks = 400;    // more for the sums of a cluster
constexpr double kDoubledClusterClocks = 330;  // more for each doubling of a cluster
// The time of 0 to 3 blocks that share a multiprocessor, relative to that of one block at the multiprocessor's peak
// rate. Four run at this rate; of more, the next begins when one ends.
constexpr double kBlocksAtOnce[kMultiprocessorBlocks] = {0, 1.44, 2.38, 3.56};
constexpr double kLastBlocks = 0.22;  // more than the multiprocessors' share, where the last blocks run alone

struct Choice {
  const Variant* variant;
  int split_k;     // blocks of a cluster
  int64_t blocks;  // of a multiprocessor
  size_t shared_bytes;
  double clocks;  // of the multiprocessor that has the most blocks
};

SplitGemmGather gather_of(const Conv2dProblem& problem) {
  if (problem.c / problem.groups < kTableChannels) return SplitGemmGather::kTable;
  const bool one_tap = problem.r == 1 && problem.s == 1 && problem.stride_h == 1 && problem.stride_w == 1 &&
                       problem.pad_h == 0 && problem.pad_w == 0;
  const bool fours = int64_t{problem.h} * problem.w % 4 == 0;
  return one_tap && fours ? SplitGemmGather::kPointwise : SplitGemmGather::kChannels;
}

/// Steps of one tap; of the whole sum, if a table has the taps.
int64_t channel_steps(const Conv2dProblem& problem, const Variant& variant) {
  const int64_t channels = problem.c / problem.groups;
  const bool table = gather_of(problem) == SplitGemmGather::kTable;
  return ceil_div(table ? channels * problem.r * problem.s : channels, variant.rows);
}
int64_t step_count(const Conv2dProblem& problem, const Variant& variant) {
  const bool table = gather_of(problem) == SplitGemmGather::kTable;
  return channel_steps(problem, variant) * (table ? 1 : int64_t{problem.r} * problem.s);
}
int64_t tile_count(const Conv2dProblem& problem, const Variant& variant) {
  return group_tiles(problem, variant, problem.q()) * problem.groups;
}

/// What choices depend on of a GPU.
struct Gpu {
  GpuTraits traits;
  size_t shared_bytes;  // of a multiprocessor
};

/// Dynamic shared memory with which a multiprocessor takes at most `blocks` blocks. Without it the GPU gives a
/// multiprocessor as many blocks of a cluster as fit, while others idle. The part of one block more suffices, because
/// each block also takes what CUDA reserves.
size_t spreading_bytes(const Variant& variant, int64_t blocks, const Gpu& gpu) {
  if (blocks >= kMultiprocessorBlocks) return variant.shared_bytes;
  const size_t one_too_many = gpu.shared_bytes / static_cast<size_t>(blocks + 1) / 16 * 16;
  return std::max(variant.shared_bytes, std::min(one_too_many, gpu.traits.shared_bytes_per_block_optin));
}

/// The clocks of a block's part of the sum.
double block_clocks(const Conv2dProblem& problem, const Variant& variant, int split_k) {
  const auto steps = static_cast<double>(ceil_div(step_count(problem, variant), split_k));
  const double multiply_adds = steps * variant.rows * variant.block_m * variant.block_n;
  const double clocks = multiply_adds / (kMultiplyAdds * variant.efficiency) + kBlockClocks;
  return split_k == 1 ? clocks : clocks + kClusterClocks + kDoubledClusterClocks * std::log2(split_k);
}

/// Takes the fewest blocks a multiprocessor with which all clusters run at once. A cluster needs neighbouring
/// multiprocessors, so some may stay empty. The cost is infinite where no cluster of that size runs at all.
Choice spread(const Conv2dProblem& problem, const Variant& variant, SplitGemmFunction kernel, int split_k,
              const Gpu& gpu) {
  const int64_t clusters = tile_count(problem, variant);
  int64_t blocks = ceil_div(clusters * split_k, gpu.traits.multiprocessors), at_once = clusters;
  for (; split_k > 1 && blocks < kMultiprocessorBlocks; ++blocks) {
    const auto bytes = static_cast<int>(spreading_bytes(variant, blocks, gpu));
    at_once = clusters_at_once(reinterpret_cast<const void*>(kernel), {split_k, variant.threads, bytes});
    if (at_once >= clusters) break;
  }
  const double share = static_cast<double>(clusters * split_k) / gpu.traits.multiprocessors;
  const double times = blocks < kMultiprocessorBlocks
                           ? kBlocksAtOnce[blocks]
                           : std::max<double>(kMultiprocessorBlocks, share + kLastBlocks);
  const double clocks =
      at_once > 0 ? times * block_clocks(problem, variant, split_k) : std::numeric_limits<double>::infinity();
  return {&variant, split_k, blocks, spreading_bytes(variant, blocks, gpu), clocks};
}

/// One block a multiprocessor, or a power of two: with several blocks, clusters of five were slower than of four in a
/// trial on an H200 (not measured: a trial without a result file).
bool cluster_size_suits(const Choice& choice) {
  return choice.blocks == 1 || (choice.split_k & (choice.split_k - 1)) == 0;
}

/// The cheapest tile and division of the sum. The division depends on the batch, and with it the order of a sum.
Choice choose(const Conv2dProblem& problem, const Gpu& gpu) {
  Choice best{};
  for (const Variant& variant : kVariants) {
    SplitGemmFunction const kernel = variant.kernels[static_cast<int>(gather_of(problem))];
    for (int split_k = 1; split_k <= GpuLimits::kPortableCluster; ++split_k) {
      if (split_k > 1 && split_k > step_count(problem, variant)) continue;
      if (tile_count(problem, variant) * split_k > GpuLimits::kGridX) continue;
      const Choice choice = spread(problem, variant, kernel, split_k, gpu);
      if (cluster_size_suits(choice) && (!best.variant || choice.clocks < best.clocks)) best = choice;
    }
  }
  return best;
}

class SplitGemm : public ConvKernel {
 public:
  SplitGemm(const ConvPrepare& request, const Choice& choice)
      : variant_(*choice.variant),
        gather_(gather_of(request.problem)),
        kernel_(variant_.kernels[static_cast<int>(gather_)]),
        shared_bytes_(choice.shared_bytes),
        clusters_(static_cast<int>(tile_count(request.problem, variant_))) {
    const Conv2dProblem& problem = request.problem;
    const auto steps = static_cast<int>(step_count(problem, variant_));
    set_implicit_gemm_sizes(shape_, problem, variant_.block_m);
    set_strides(shape_, problem);
    shape_.area = problem.h * problem.w;
    shape_.dilation_h = problem.dilation_h;
    shape_.dilation_w = problem.dilation_w;
    shape_.group_channels = problem.c / problem.groups;
    shape_.positions = problem.n * shape_.plane;
    shape_.steps = steps;
    shape_.channel_steps = static_cast<int>(channel_steps(problem, variant_));
    shape_.s = problem.s;
    shape_.split_k = choice.split_k;
    shape_.by_split_k = FastDivide(choice.split_k);
    shape_.by_group_tiles = FastDivide(static_cast<int>(group_tiles(problem, variant_, problem.q())));
    shape_.by_plane = FastDivide(shape_.plane);
    shape_.by_q = FastDivide(shape_.q);
    shape_.by_channel_steps = FastDivide(shape_.channel_steps);
    shape_.by_s = FastDivide(problem.s);
    shape_.vector_store = shape_.plane % 4 == 0;
    shape_.after = StoreRectifier(request.rectifier);
    bias_ = upload_bias(request, shape_.filter_pitch);
    if (gather_ == SplitGemmGather::kTable) {
      filters_ = upload_filters(request, steps * variant_.rows, shape_.filter_pitch);
      taps_ = upload_table(request, implicit_gemm_taps(problem, steps * variant_.rows));
    } else {
      pack(request);
    }
    allow_shared_bytes(reinterpret_cast<const void*>(kernel_), shared_bytes_);
  }
  std::string detail() const override {
    std::string text = concat(variant_.block_m, " filters x ", variant_.block_n, " positions per block");
    if (variant_.sliced_k > 1) text += concat(", sums split between ", variant_.sliced_k, " groups of warps");
    if (shape_.split_k > 1)
      text +=
          concat(variant_.sliced_k > 1 ? " of each of " : ", sums split between ", shape_.split_k, " blocks");
    return text;
  }
  std::vector<LaunchResources> launches() const override {
    return {launch_resources(kName, reinterpret_cast<const void*>(kernel_), variant_.threads, shared_bytes_)};
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_clusters(
        kName, kernel_, clusters_, {shape_.split_k, variant_.threads, static_cast<int>(shared_bytes_)},
        context.stream, shape_, args.x, static_cast<const float*>(filters_.get()),
        static_cast<const float*>(bias_.get()), static_cast<const ImplicitGemmTap*>(taps_.get()), args.y);
  }

 private:
  static constexpr const char* kName = "conv_split_gemm_kernel";

  /// [K, C/G, R, S] to [G, R, S, channels, pitch], with whole steps of channels, padded with zeros.
  void pack(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const int64_t channels = int64_t{shape_.channel_steps} * variant_.rows, pitch = shape_.filter_pitch,
                  taps = int64_t{problem.r} * problem.s;
    std::vector<float> packed(static_cast<size_t>(problem.groups * taps * channels * pitch), 0.0f);
    for (int64_t k = 0; k < problem.k; ++k) {
      const int64_t group = k / shape_.group_filters, filter = k % shape_.group_filters;
      for (int64_t c = 0; c < shape_.group_channels; ++c) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          packed[static_cast<size_t>(((group * taps + tap) * channels + c) * pitch + filter)] =
              request.weights[(k * shape_.group_channels + c) * taps + tap];
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
  }

  const Variant& variant_;
  SplitGemmGather gather_;
  SplitGemmFunction kernel_;
  size_t shared_bytes_;
  int clusters_;
  SplitGemmShape shape_{};
  std::shared_ptr<float> filters_, bias_;
  std::shared_ptr<void> taps_;
};

Support gpu_supports(int capability) {
  return needs_capability("split_gemm needs clusters of blocks,", GpuLimits::kClusters, capability,
                          "use implicit_gemm");
}

class SplitGemmBackend : public SummingBackend {
 public:
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }
  /// More than half of a tile's filters, sums that are not so short that filling the stages takes most of the time,
  /// and enough work that a block's start pays off. On an H200 (no result file has it) the layers of
  /// layers/conv/problems/pointwise.txt from 9.6 million multiply-adds on were faster than by the other backends,
  /// except that of 32 channels, and those of batch1.txt, up to 2.4 million, slower. With three channels a 7x7 filter
  /// was faster than by direct, a 3x3 filter slower.
  bool suits(const Conv2dProblem& problem, MathMode /*math*/) const override {
    constexpr int kMinFilters = 33, kMinTaps = 64, kMinTableTaps = 96;
    constexpr double kMinProducts = 1 << 23;
    const int64_t channels = problem.c / problem.groups, taps = channels * problem.r * problem.s;
    if (problem.k / problem.groups < kMinFilters) return false;
    if (taps < (channels < kTableChannels ? kMinTableTaps : kMinTaps)) return false;
    return static_cast<double>(problem.output_shape().num_elements()) * static_cast<double>(taps) >=
           kMinProducts;
  }
  // The parts of a sum depend on the number of tiles, and so on the batch.
  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return Determinism::kBitwise;
  }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("split_gemm", math); !fp32) return fp32;
    if (const Support nchw = nchw_only("split_gemm", problem); !nchw) return nchw;
    if (const Support limits = own_kernel_limits("split_gemm", problem); !limits) return limits;
    const Support reach =
        offsets_fit("split_gemm", problem, implicit_gemm_reach(problem), ImplicitGemmTap::kNowhere);
    return reach ? current_gpu_supports(gpu_supports) : reach;
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const Device device = request.stream.device();
    const Gpu gpu{gpu_traits(device),
                  static_cast<size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device))};
    if (const Support support = gpu_supports(gpu.traits.compute_capability); !support)
      throw UnavailableError(support.reason());
    return std::make_unique<SplitGemm>(request, choose(request.problem, gpu));
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_split_gemm, SplitGemmBackend())

}  // namespace lenslet
