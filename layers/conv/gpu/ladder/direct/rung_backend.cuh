// The host side of all rungs of the direct ladder. A rung is a few kernels and a RungDesign.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/ladder/direct/rung_kernel.cuh"
#include "layers/conv/gpu/ladder/ladder_backend.cuh"

namespace lenslet {
namespace direct_ladder {

// Kernel parameters end at 4 KiB before CUDA 12.1, at 32,764 bytes since.
using SmallBank = FilterBank<900>;
#if CUDART_VERSION >= 12010
using LargeBank = FilterBank<8000>;
#else
using LargeBank = SmallBank;
#endif

using GlobalLaunch = KernelLaunch<RungShape, const float*, const float*, const float*, float*>;
template <typename Bank>
using BankLaunch = KernelLaunch<Bank, RungShape, const float*, float*>;

/// The kernels of one problem: filters in global memory, or in a bank of either size.
struct RungKernels {
  GlobalLaunch::Function global = nullptr;
  BankLaunch<SmallBank>::Function small = nullptr;
  BankLaunch<LargeBank>::Function large = nullptr;
};

// Rungs with K compiled in are for images: they have one filter or as many as a picture has colours.
constexpr int kMaxFilters = 3;

struct RungDesign {
  const char* name = nullptr;         // of the backend: "direct.02_shared_tile"
  const char* kernel_name = nullptr;  // "conv_direct_shared_tile_kernel"
  /// Yes, or no with the unsupported property; LadderBackend checks groups and sizes.
  Support (*supports)(const char* name, const Conv2dProblem& problem) = nullptr;
  RungKernels (*kernels)(const Conv2dProblem& problem) = nullptr;
  int columns = 1, rows = 1, filters = 1;  // outputs of one thread
  int threads_x = 32, threads_y = 8;       // of a block, at most
  int max_threads = 256;                   // with filter groups in z, where shares_input
  bool shares_input = false;               // filter groups of a block use one input tile
  bool uses_shared = false;
  bool stages_filters = false;  // those of a block lie after the input tile
  bool whole_warps = false;     // blocks are threads_x wide also for narrow images: lanes exchange values
  bool fills_gpu = false;       // as many rows as it takes for all blocks to be resident at once
  bool own_strips = false;      // with fills_gpu: each warp of a block has a strip of its own
  bool input_columns = false;   // `columns` are of the input: a thread has columns / stride outputs of a row
};

/// The problems that kernels with a compiled-in window support.
inline Support supports_compiled_windows(const char* name, const Conv2dProblem& problem) {
  const bool dense = problem.dilation_h == 1 && problem.dilation_w == 1;
  const bool square = problem.r == problem.s && problem.stride_h == problem.stride_w;
  const bool three = problem.r == 3 && problem.stride_h <= 3, five = problem.r == 5 && problem.stride_h == 1;
  if (dense && square && (three || five)) return Support::yes();
  return Support::no(concat(name,
                            " supports 3x3 at strides 1 to 3 and 5x5 at stride 1, without dilation, found ",
                            window_text(problem), ": use direct"));
}

/// Kernels<window, stride>::get() of such a problem.
template <template <int, int> class Kernels>
RungKernels by_window(const Conv2dProblem& problem) {
  if (problem.r == 5) return Kernels<5, 1>::get();
  if (problem.stride_h == 1) return Kernels<3, 1>::get();
  return problem.stride_h == 2 ? Kernels<3, 2>::get() : Kernels<3, 3>::get();
}

/// Shape, block and shared memory of a problem; `shared_bytes` exceeds the limit if not even the smallest block fits.
struct RungLaunch {
  RungShape shape{};
  dim3 block;
  int64_t blocks = 0;
  size_t shared_bytes = 0;
};

inline RungLaunch launch_of(const Conv2dProblem& problem, const RungDesign& design) {
  RungLaunch launch;
  RungShape& shape = launch.shape;
  set_all_sizes(shape, problem);
  shape.n = problem.n;
  const int columns = design.input_columns ? design.columns / shape.stride_w : design.columns;
  int x = std::min<int>(design.threads_x, static_cast<int>(ceil_div(shape.q, columns)));
  if (design.whole_warps) x = design.threads_x;
  int y = std::min<int>(design.threads_y, static_cast<int>(ceil_div(shape.p, design.rows)));
  const int groups = static_cast<int>(ceil_div(shape.k, design.filters));
  size_t channel_bytes = 0;
  int z = 1;
  while (true) {  // halve the block until one channel of its input tile fits
    shape.tile_p = y * design.rows;
    shape.tile_q = x * columns;
    z = design.shares_input ? std::clamp(design.max_threads / (x * y), 1, std::min(groups, 64)) : 1;
    const int64_t tile_h = int64_t{shape.tile_p - 1} * shape.stride_h + (shape.r - 1) * shape.dilation_h + 1;
    const int64_t tile_w = int64_t{shape.tile_q - 1} * shape.stride_w + (shape.s - 1) * shape.dilation_w + 1;
    // A thread that reads float4 may read past the last column it uses.
    const int64_t pitch = round_up(tile_w + 3, 4);
    shape.tile_h = static_cast<int>(tile_h);
    shape.tile_w = static_cast<int>(tile_w);
    shape.pitch = static_cast<int>(pitch);
    int64_t floats = design.uses_shared ? tile_h * pitch : 0;
    if (design.stages_filters) floats += int64_t{z} * design.filters * shape.r * shape.s;
    channel_bytes = static_cast<size_t>(floats) * sizeof(float);
    if (channel_bytes <= GpuLimits::kSharedBytes || x * y == 1) break;
    (y > 1 ? y : x) /= 2;
  }
  launch.block = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
  shape.tile_k = z * design.filters;
  const int column_tiles = static_cast<int>(ceil_div(shape.q, shape.tile_q));
  const int row_tiles = static_cast<int>(ceil_div(shape.p, shape.tile_p));
  const int filter_tiles = static_cast<int>(ceil_div(shape.k, shape.tile_k));
  shape.by_column_tiles = FastDivide(column_tiles);
  shape.by_row_tiles = FastDivide(row_tiles);
  shape.by_filter_tiles = FastDivide(filter_tiles);
  launch.blocks = int64_t{column_tiles} * row_tiles * filter_tiles * problem.n;
  // Beyond eight channels a longer stage costs occupancy and saves little waiting.
  constexpr int64_t kMaxChannels = 8;
  shape.chunk = 1;
  if (channel_bytes > 0) {
    const auto fitting = static_cast<int64_t>(GpuLimits::kSharedBytes / channel_bytes);
    shape.chunk = static_cast<int>(std::max<int64_t>(1, std::min({fitting, kMaxChannels, int64_t{shape.c}})));
  }
  launch.shared_bytes = channel_bytes * static_cast<size_t>(shape.chunk);
  return launch;
}

class RungConv : public ConvKernel {
 public:
  using Design = RungDesign;
  static constexpr MathMode kMath = MathMode::kFp32;
  static constexpr TensorLayout kLayout = TensorLayout::kNchw;
  static Support supports(const Conv2dProblem& problem, const RungDesign& design) {
    if (design.supports) {
      if (const Support supported = design.supports(design.name, problem); !supported) return supported;
    }
    const int64_t weights = int64_t{problem.k} * problem.c * problem.r * problem.s + problem.k;
    if (!design.kernels(problem).global && weights > LargeBank::kCapacity) {
      return Support::no(concat(design.name, " keeps up to ", LargeBank::kCapacity,
                                " weights and biases in constant memory, found ", weights, ": use direct"));
    }
    const RungLaunch launch = launch_of(problem, design);
    if (launch.shared_bytes > GpuLimits::kSharedBytes) {
      return Support::no(concat(design.name, " would need ", launch.shared_bytes,
                                " bytes of shared memory for one window, the limit is ",
                                GpuLimits::kSharedBytes, ": use direct"));
    }
    if (launch.blocks > GpuLimits::kGridX) {
      return Support::no(concat(design.name, " would need ", launch.blocks, " thread blocks, the limit is ",
                                GpuLimits::kGridX, ": use a smaller batch"));
    }
    return Support::yes();
  }

  RungConv(const ConvPrepare& request, const RungDesign& design)
      : design_(design), launch_(launch_of(request.problem, design)) {
    if (design.fills_gpu) fill_gpu(request);
    launch_.shape.relu = request.rectifier.relu();
    const Conv2dProblem& problem = request.problem;
    const RungKernels kernels = design.kernels(problem);
    const size_t weights = size_t{1} * problem.k * problem.c * problem.r * problem.s;
    if (kernels.global) {
      filters_ = request.services.upload(request.weights, weights);
      bias_ = upload_bias(request, problem.k);
      prepare_launch(global_, kernels.global);
      return;
    }
    const auto count = static_cast<size_t>(problem.k);
    const bool small = weights + count <= SmallBank::kCapacity;
    large_bank_ = std::make_unique<LargeBank>();
    float* const bias =
        std::copy_n(request.weights, weights, small ? small_bank_.values : large_bank_->values);
    if (request.bias) std::copy_n(request.bias, count, bias);
    small ? prepare_launch(small_, kernels.small) : prepare_launch(large_, kernels.large);
  }
  std::string detail() const override {
    const int columns = launch_.shape.tile_q / static_cast<int>(launch_.block.x);
    // Where threads share an input tile, each has sums for all its filters, also for those past the last one.
    const int filters = design_.shares_input ? design_.filters : std::min(design_.filters, launch_.shape.k);
    return concat(launch_.block.x, "x", launch_.block.y, "x", launch_.block.z, " threads, ", design_.rows,
                  "x", columns, " positions x ", filters, " filters per thread");
  }
  std::vector<LaunchResources> launches() const override {
    return {global_ ? global_.resources() : small_ ? small_.resources() : large_.resources()};
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    if (global_) {
      global_(context.stream, launch_.shape, args.x, filters_.get(), bias_.get(), args.y);
    } else if (small_) {
      small_(context.stream, small_bank_, launch_.shape, args.x, args.y);
    } else {
      large_(context.stream, *large_bank_, launch_.shape, args.x, args.y);
    }
  }

 private:
  /// Sets the rows of a thread, and the launch, by the number of blocks that are resident at once. Fewer than eight
  /// rows would not pay for those that two strips read.
  void fill_gpu(const ConvPrepare& request) {
    constexpr int kMinRows = 8;
    const Conv2dProblem& problem = request.problem;
    if (design_.own_strips) launch_.block.y = static_cast<unsigned>(design_.threads_y);
    const void* kernel = reinterpret_cast<const void*>(design_.kernels(problem).small);
    const auto threads = static_cast<int>(launch_.block.x * launch_.block.y);
    const int64_t at_once =
        int64_t{gpu_traits(request.stream.device()).multiprocessors} *
        launch_resources(design_.kernel_name, kernel, threads, 0).blocks_per_multiprocessor;
    const int64_t side_by_side = problem.n * ceil_div(problem.q(), launch_.shape.tile_q);
    if (design_.own_strips) {
      const int64_t max_strips = std::max<int64_t>(1, problem.p() / kMinRows);
      const int64_t strips = std::clamp<int64_t>(at_once * design_.threads_y / side_by_side, 1, max_strips);
      design_.rows = static_cast<int>(ceil_div(problem.p(), strips));  // of the longest
      launch_.shape.by_row_tiles = FastDivide(static_cast<int>(strips));
      launch_.blocks = ceil_div(strips * side_by_side, design_.threads_y);
      return;
    }
    const int64_t on_top = std::max<int64_t>(1, at_once / side_by_side);
    const int64_t rows = ceil_div(problem.p(), on_top * design_.threads_y);
    design_.rows = static_cast<int>(std::max<int64_t>(kMinRows, rows));
    launch_ = launch_of(problem, design_);
  }
  template <class Launch>
  void prepare_launch(Launch& launch, typename Launch::Function kernel) {
    launch = {design_.kernel_name, kernel, static_cast<unsigned>(launch_.blocks), launch_.block,
              launch_.shared_bytes};
  }

  RungDesign design_;
  RungLaunch launch_;
  GlobalLaunch global_;
  BankLaunch<SmallBank> small_;
  BankLaunch<LargeBank> large_;
  SmallBank small_bank_{};
  std::unique_ptr<LargeBank> large_bank_;
  std::shared_ptr<float> filters_, bias_;
};

using RungBackend = LadderBackend<RungConv>;

}  // namespace direct_ladder
}  // namespace lenslet
