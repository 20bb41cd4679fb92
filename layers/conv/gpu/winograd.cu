// Winograd convolution: F(2x2, 3x3), F(2x2, 5x5) and F(4x4, 3x3), fp32 FFMA.
//
// Each MxM tile of outputs comes from an E x E patch of inputs, E = M + R - 1:
//   Y = A^T [sum over c of U_kc * V_c] A with V_c = B^T d_c B and U_kc = G g_kc G^T,
// for 3x3 filters 16 multiplications instead of 36 (2.25 times fewer) with M = 2, 36 instead of 144 (4 times fewer)
// with M = 4; for 5x5 filters 36 instead of 100 (2.78 times fewer). A. Lavin and S. Gray, "Fast algorithms for
// convolutional neural networks", arXiv:1509.09308 (2015), sections 4.1 and 5.1. Filters are transformed once, in fp64
// on the host. winograd/fused.cuh computes F(4x4, 3x3). F(2x2, R) has three stages: the sums over c are E*E matrix
// products, and tiles are processed in chunks, which limits the workspace. The points of six inputs differ from the
// paper's: see winograd/transforms.cuh.
#include <algorithm>
#include <vector>

#include "framework/base/counted.h"
#include "framework/base/integer_math.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/own_kernel_limits.h"
#include "layers/conv/gpu/winograd/fused_launch.cuh"
#include "layers/conv/gpu/winograd/kernels.cuh"
#include "layers/conv/winograd_accuracy.h"

namespace lenslet {
namespace {

// Large enough that a chunk's matrix products fill the GPU and the cost of launches is negligible.
constexpr size_t kDefaultWorkspace = size_t{256} << 20;
// Small enough that transformed inputs are still in L2 when they are read, once per group of filters.
constexpr size_t kFewChannelsWorkspace = size_t{32} << 20;

using InputLaunch = KernelLaunch<WinogradShape, int, const float*, float*>;
using MultiplyLaunch = KernelLaunch<WinogradShape, const float*, const float*, float*>;
using OutputLaunch = KernelLaunch<WinogradShape, int, const float*, const float*, float*>;
using FewChannelsLaunch = KernelLaunch<WinogradShape, int, const float*, const float*, const float*, float*>;

struct MultiplyVariant {
  int block_m, block_n, threads;
  MultiplyLaunch::Function kernel;
};
template <class Tile>
constexpr MultiplyVariant multiply_variant() {
  return {Tile::kBlockM, Tile::kBlockN, Tile::kThreads, &conv_winograd_multiply_kernel<Tile>};
}
// Chosen by the number of filters: the first whose tile is more than half full.
constexpr MultiplyVariant kMultiplyVariants[] = {
    multiply_variant<SgemmTile<128, 128, 8, 8, 8, 8, 2>>(),
    multiply_variant<SgemmTile<64, 128, 8, 8, 8, 8, 4>>(),
    multiply_variant<SgemmTile<32, 128, 8, 8, 4, 4, 4>>(),
    multiply_variant<SgemmTile<16, 128, 8, 8, 4, 2, 8>>(),
    multiply_variant<SgemmTile<8, 128, 8, 4, 4, 2, 8>>(),
};
const MultiplyVariant& choose_multiply(int group_filters) {
  for (const MultiplyVariant& candidate : kMultiplyVariants) {
    if (2 * group_filters > candidate.block_m) return candidate;
  }
  return kMultiplyVariants[std::size(kMultiplyVariants) - 1];
}

int64_t tile_count(const Conv2dProblem& problem) {
  return problem.n * ceil_div(problem.p(), 2) * ceil_div(problem.q(), 2);
}
// Problems for which one kernel computes products and output transform: so few channels that a matrix product does not
// pay off, and enough tiles to fill the GPU. 16 channels of kFewOut filters, transformed, are 8 KiB (3x3) or 18 KiB
// (5x5) of shared memory, and 8,192 tiles are 64 blocks for each kFewOut filters. Both were chosen by hand: no file
// compares the two variants.
constexpr int kFewChannels = 16, kFewOut = 8;
constexpr int64_t kFewChannelsTiles = 8192;
bool has_few_channels(const Conv2dProblem& problem) {
  return problem.groups == 1 && problem.c <= kFewChannels && tile_count(problem) >= kFewChannelsTiles;
}
size_t bytes_per_tile(const Conv2dProblem& problem) {
  const size_t channels = size_t{0} + problem.c + (has_few_channels(problem) ? 0 : problem.k);
  return sizeof(float) * (problem.r + 1) * (problem.s + 1) * channels;
}
/// Tiles per chunk within that many bytes, with chunks of similar size; 0 if not even the smallest chunk fits.
int64_t chunk_tiles(const Conv2dProblem& problem, size_t limit) {
  const int64_t units = ceil_div(tile_count(problem), kWinogradChunkUnit);
  const size_t wanted = has_few_channels(problem) ? kFewChannelsWorkspace : kDefaultWorkspace;
  const int64_t fitting =
      static_cast<int64_t>(std::min(limit, wanted) / (bytes_per_tile(problem) * kWinogradChunkUnit));
  if (fitting == 0) return 0;
  return ceil_div(units, ceil_div(units, fitting)) * kWinogradChunkUnit;
}

template <int R>
class WinogradConv : public ConvKernel {
 public:
  WinogradConv(const ConvPrepare& request, int64_t chunk) : few_channels_(has_few_channels(request.problem)) {
    const Conv2dProblem& problem = request.problem;
    const MultiplyVariant& variant = choose_multiply(problem.k / problem.groups);
    set_unit_stride_sizes(shape_, problem);
    shape_.group_channels = problem.c / problem.groups;
    shape_.group_filters = problem.k / problem.groups;
    const int filter_tile = few_channels_ ? kFewOut : variant.block_m;
    shape_.filter_tiles = static_cast<int>(ceil_div(shape_.group_filters, filter_tile));
    shape_.filter_pitch = shape_.filter_tiles * filter_tile;
    shape_.tiles = static_cast<int>(tile_count(problem));
    shape_.chunk = static_cast<int>(chunk);
    shape_.by_tile_columns = FastDivide(static_cast<int>(ceil_div(problem.q(), 2)));
    shape_.by_tile_rows = FastDivide(static_cast<int>(ceil_div(problem.p(), 2)));
    shape_.by_filter_tiles = FastDivide(shape_.filter_tiles);
    shape_.relu = request.rectifier.relu();
    upload_filters(request);
    bias_ = upload_bias(request, shape_.group_filters);

    const auto blocks = static_cast<unsigned>(shape_.chunk / kWinogradBlock);
    const auto filter_tiles = static_cast<unsigned>(shape_.filter_tiles);
    const auto along_y = [](int count) { return static_cast<unsigned>(std::min(count, GpuLimits::kGridYZ)); };
    input_ = {"conv_winograd_input_kernel", &conv_winograd_input_kernel<R>, dim3(blocks, along_y(shape_.c)),
              kWinogradBlock};
    if (few_channels_) {
      products_of_few_ = {"conv_winograd_few_channels_kernel", &conv_winograd_few_channels_kernel<R, kFewOut>,
                          dim3(blocks, filter_tiles), kWinogradBlock,
                          sizeof(float) * kPositions * static_cast<size_t>(shape_.c) * kFewOut};
      return;
    }
    const auto columns = static_cast<unsigned>(shape_.chunk / variant.block_n);
    multiply_ = {"conv_winograd_multiply_kernel", variant.kernel,
                 dim3(columns * filter_tiles, kPositions, static_cast<unsigned>(problem.groups)),
                 static_cast<unsigned>(variant.threads)};
    output_ = {"conv_winograd_output_kernel", &conv_winograd_output_kernel<R>,
               dim3(blocks, along_y(shape_.k)), kWinogradBlock};
  }
  size_t workspace_bytes() const override {
    return input_floats() * sizeof(float) + product_floats() * sizeof(float);
  }
  std::string detail() const override {
    return concat("F(2x2,", R, "x", R, "), ", counted(ceil_div(shape_.tiles, shape_.chunk), "chunk"), " of ",
                  shape_.chunk, " tiles");
  }
  double products_saved() const override { return R * R * 4.0 / kPositions; }
  std::vector<LaunchResources> launches() const override {
    if (few_channels_) return {input_.resources(), products_of_few_.resources()};
    return {input_.resources(), multiply_.resources(), output_.resources()};
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    float* transformed = static_cast<float*>(context.workspace);
    float* products = transformed + input_floats();
    for (int64_t next = 0; next < shape_.tiles; next += shape_.chunk) {
      const int first = static_cast<int>(next);
      {
        ScopedStage stage(context.tracer, "input_transform");
        input_(context.stream, shape_, first, args.x, transformed);
      }
      if (few_channels_) {
        ScopedStage stage(context.tracer, "multiply_and_output_transform");
        products_of_few_(context.stream, shape_, first, filters_.get(), transformed, bias_.get(), args.y);
        continue;
      }
      {
        ScopedStage stage(context.tracer, "multiply");
        multiply_(context.stream, shape_, filters_.get(), transformed, products);
      }
      ScopedStage stage(context.tracer, "output_transform");
      output_(context.stream, shape_, first, products, bias_.get(), args.y);
    }
  }

 private:
  static constexpr unsigned kPositions = (R + 1) * (R + 1);
  size_t input_floats() const { return size_t{kPositions} * shape_.c * shape_.chunk; }
  size_t product_floats() const { return few_channels_ ? 0 : size_t{kPositions} * shape_.k * shape_.chunk; }

  /// Transforms [K, C/G, R, R] to U [G, E*E, C/G, filter_pitch], or for few channels to [K tiles, E*E, C, kFewOut],
  /// padded with zeros.
  void upload_filters(const ConvPrepare& request) {
    const int64_t pitch = shape_.filter_pitch, channels = shape_.group_channels;
    const int64_t count = request.problem.groups * int64_t{kPositions} * channels * pitch;
    std::vector<float> packed(static_cast<size_t>(count), 0.0f);
    for (int64_t k = 0; k < shape_.k; ++k) {
      const int64_t group = k / shape_.group_filters, filter = k % shape_.group_filters;
      for (int64_t c = 0; c < channels; ++c) {
        double u[R + 1][R + 1];
        transform_winograd_filter<2, R>(request.weights + (k * channels + c) * R * R, u);
        for (int64_t i = 0; i < kPositions; ++i) {
          const int64_t at = few_channels_ ? ((filter / kFewOut * kPositions + i) * channels + c) * kFewOut +
                                                 filter % kFewOut
                                           : ((group * kPositions + i) * channels + c) * pitch + filter;
          packed[static_cast<size_t>(at)] = static_cast<float>(u[i / (R + 1)][i % (R + 1)]);
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
  }

  bool few_channels_;
  WinogradShape shape_{};
  InputLaunch input_;
  MultiplyLaunch multiply_;
  OutputLaunch output_;
  FewChannelsLaunch products_of_few_;
  std::shared_ptr<float> filters_, bias_;
};

class WinogradBackend : public ConvBackend {
 public:
  /// If F(4x4, 3x3) suits, the larger workspace of both variants: a GPU that does not support it runs three stages.
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode) const override {
    const size_t three_stages =
        bytes_per_tile(problem) * static_cast<size_t>(chunk_tiles(problem, kDefaultWorkspace));
    if (!winograd_fused_suits(problem)) return three_stages;
    const size_t fused = WinogradFusedSizes(problem).block_bytes() *
                         static_cast<size_t>(WinogradFused::chunk_blocks(problem, kDefaultWorkspace));
    return std::max(three_stages, fused);
  }
  /// Bytes of the variant that the current GPU runs: the fused one needs fewer.
  size_t min_workspace_bytes(const Conv2dProblem& problem, MathMode) const override {
    if (winograd_fused_suits(problem) && current_gpu_supports(fused_support))
      return WinogradFusedSizes(problem).block_bytes();
    return bytes_per_tile(problem) * kWinogradChunkUnit;
  }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode) const override {
    const bool two_by_three = problem.r == 3 && !winograd_fused_suits(problem);
    ConvAccuracy accuracy = winograd_accuracy(problem, two_by_three ? kWinogradF23 : kWinogradSixInputs);
    // G of F(2, 3) contains only halves: with integers up to 4 all numbers are multiples of 1/4 below 81 * 16 * C/G,
    // exact if C/G < 3,236. The other variants contain thirds and fifths.
    accuracy.exact_on_integers = two_by_three && problem.c / problem.groups < 3000;
    return accuracy;
  }
  /// Few enough multiplications that the transforms pay off. In trials on an H200 (not measured: no result file has
  /// them), with layers/conv/problems/deep3x3.txt and resnet50.txt: F(4x4, 3x3) from 32 channels and 64 filters on;
  /// F(2x2, 3x3) was faster than split_gemm with 128 blocks of products of 256 channels, and slower with 64 blocks of
  /// 512. kMinBlocks lies between.
  bool suits(const Conv2dProblem& problem, MathMode /*math*/) const override {
    constexpr int kMinChannels = 32, kMinFilters = 64, kManyChannels = 128, kMinBlocks = 112;
    const int group_channels = problem.c / problem.groups, group_filters = problem.k / problem.groups;
    if (problem.r != 3 || group_channels < kMinChannels || group_filters < kMinFilters) return false;
    if (winograd_fused_suits(problem)) return static_cast<bool>(current_gpu_supports(fused_support));
    const MultiplyVariant& variant = choose_multiply(group_filters);
    const int64_t blocks = 16 * problem.groups * ceil_div(group_filters, variant.block_m) *
                           ceil_div(tile_count(problem), variant.block_n);
    return group_channels >= kManyChannels && group_filters >= kManyChannels && blocks >= kMinBlocks;
  }
  // The choice of tiles, and so the order of sums, depends on the number of tiles, and so on the batch.
  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return Determinism::kBitwise;
  }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("winograd", math); !fp32) return fp32;
    if (const Support nchw = nchw_only("winograd", problem); !nchw) return nchw;
    if (const Support limits = own_kernel_limits("winograd", problem); !limits) return limits;
    if (problem.r != problem.s || (problem.r != 3 && problem.r != 5)) {
      return Support::no(concat("winograd supports 3x3 and 5x5 filters, found ", problem.r, "x", problem.s,
                                ": use direct or implicit_gemm"));
    }
    if (const Support window = winograd_window(problem, "use direct or implicit_gemm"); !window)
      return window;
    if (const Support groups = groups_fit_grid("winograd", problem); !groups) return groups;
    if (const Support filters = filters_fit_grid("winograd", problem, kFewOut); !filters) return filters;
    if (bytes_per_tile(problem) * kWinogradChunkUnit > kDefaultWorkspace) {
      return Support::no(concat("winograd would need more than ", kDefaultWorkspace,
                                " bytes of workspace for its smallest chunk of ", problem.c, " + ", problem.k,
                                " channels: use implicit_gemm"));
    }
    return Support::yes();
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const Conv2dProblem& problem = request.problem;
    if (winograd_fused_suits(problem) && WinogradFused::runs_on(gpu_traits(request.stream.device()))) {
      const size_t limit = std::min(request.workspace_limit, kDefaultWorkspace);
      const int64_t chunk = WinogradFused::chunk_blocks(problem, limit);
      if (chunk == 0) throw too_little_workspace(WinogradFusedSizes(problem).block_bytes(), request);
      return std::make_unique<WinogradFused>(request, chunk);
    }
    const int64_t chunk = chunk_tiles(problem, request.workspace_limit);
    if (chunk == 0) throw too_little_workspace(bytes_per_tile(problem) * kWinogradChunkUnit, request);
    if (problem.r == 3) return std::make_unique<WinogradConv<3>>(request, chunk);
    return std::make_unique<WinogradConv<5>>(request, chunk);
  }
  static Support fused_support(int /*capability*/) {
    int device = 0;
    LENSLET_CUDA_CHECK(cudaGetDevice(&device));
    return WinogradFused::runs_on(gpu_traits(Device::cuda(device)))
               ? Support::yes()
               : Support::no("this GPU runs the three stages");
  }
  static MemoryError too_little_workspace(size_t needed, const ConvPrepare& request) {
    return MemoryError(workspace_fits("backend winograd", needed, request.workspace_limit).reason());
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_winograd, WinogradBackend())

}  // namespace lenslet
