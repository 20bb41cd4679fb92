// CUTLASS's forward convolution for Hopper, with a tile that is chosen by timing.
//
// One kernel is one instantiation of its CollectiveBuilder: the implicit matrix product of N*P*Q pixels, R*S*C deep,
// by K filters; x through TMA in im2col mode, which rounds fp32 to tf32 while it copies; one warpgroup that multiplies
// with wgmma, and a warp that copies; one tile a block, because CUTLASS has no persistent schedule for convolutions of
// this GPU. Bias and ReLU are inside, as its fusion of a bias per column and an activation.
#include "layers/conv/gpu/cutlass/hopper.h"

#include <cute/tensor.hpp>
#include <cutlass/kernel_hardware_info.hpp>

#include <cutlass/epilogue/thread/activation.h>
#include <cutlass/version.h>
#include <cutlass/conv/collective/collective_builder.hpp>
#include <cutlass/conv/device/conv_universal_adapter.hpp>
#include <cutlass/conv/kernel/conv_universal.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/device/gpu_queries.h"
#include "framework/device/kernel_launch.cuh"
#include "layers/conv/gpu/library_inputs.h"

namespace lenslet {
namespace {

using CutlassShape = cutlass::conv::ConvProblemShape<cutlass::conv::Operator::kFprop, 2>;

/// One problem's sizes and memory, apart from x and y, which change from run to run.
struct CutlassProblem {
  CutlassShape shape;
  const float* filters;  // [K, R, S, C]
  const float* bias;     // [K] or null
  bool relu;
};

void check_cutlass(cutlass::Status status, const char* what) {
  if (status == cutlass::Status::kSuccess) return;
  throw DeviceError(
      concat("CUTLASS could not ", what, " its convolution: ", cutlass::cutlassGetStatusString(status)));
}

/// One of CUTLASS's kernels for one problem.
class CutlassTile {
 public:
  virtual ~CutlassTile() = default;
  /// Pixels x filters of a block, then of a cluster in blocks: "128x128_2x1".
  virtual std::string name() const = 0;
  virtual int stages() const = 0;
  virtual void run(const float* x, float* y, cudaStream_t stream) = 0;
};

template <int kPixels, int kFilters, int kClusterPixels, int kClusterFilters, int kStages>
class CutlassTileOf : public CutlassTile {
 public:
  explicit CutlassTileOf(const CutlassProblem& problem) : problem_(problem) {}

  std::string name() const override {
    return concat(kPixels, "x", kFilters, "_", kClusterPixels, "x", kClusterFilters);
  }
  int stages() const override { return Convolution::kStages; }

  void run(const float* x, float* y, cudaStream_t stream) override {
    if (x != x_ || y != y_) describe(x, y);
    check_cutlass(Convolution::run(parameters_, stream), "launch");
  }

 private:
  using Layout = cutlass::layout::TensorNHWC;
  using Arch = cutlass::arch::Sm90;
  using TensorCores = cutlass::arch::OpClassTensorOp;
  static constexpr int kAlignment = 4;  // fp32 values of TMA's 16 bytes
  // 32 channels are the 128 bytes of the widest swizzle.
  using Tile = cute::Shape<cute::Int<kPixels>, cute::Int<kFilters>, cute::Shape<cute::_32>>;
  using Cluster = cute::Shape<cute::Int<kClusterPixels>, cute::Int<kClusterFilters>, cute::_1>;
  using Fusion =
      cutlass::epilogue::fusion::LinCombPerColBiasEltAct<cutlass::epilogue::thread::Clamp, float, float>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      Arch, TensorCores, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float, void,
      Layout, kAlignment, float, Layout, kAlignment, cutlass::epilogue::TmaWarpSpecialized,
      Fusion>::CollectiveOp;
  using Stages = std::conditional_t<
      kStages == 0,
      cutlass::conv::collective::StageCountAutoCarveout<sizeof(typename Epilogue::SharedStorage)>,
      cutlass::conv::collective::StageCount<kStages>>;
  using Mainloop = typename cutlass::conv::collective::CollectiveBuilder<
      Arch, TensorCores, cutlass::conv::Operator::kFprop, float, Layout, kAlignment, float, Layout,
      kAlignment, float, Tile, Cluster, Stages,
      cutlass::conv::KernelImplicitTmaWarpSpecializedSm90>::CollectiveOp;
  using Kernel = cutlass::conv::kernel::ConvUniversal<CutlassShape, Mainloop, Epilogue>;
  using Convolution = cutlass::conv::device::ConvUniversalAdapter<Kernel>;

  /// Encodes the addresses for TMA, on the host.
  void describe(const float* x, float* y) {
    typename Epilogue::StrideD stride{};
    cute::for_each(cute::make_seq<3>{},
                   [&](auto i) { cute::get<i>(cute::get<0>(stride)) = problem_.shape.stride_C[2 - i]; });
    typename Convolution::Arguments arguments{
        problem_.shape, {x, problem_.filters}, {{}, nullptr, stride, y, stride}};
    auto& fusion = arguments.epilogue.thread;
    fusion.alpha = 1;
    fusion.beta = 0;
    fusion.bias_ptr = problem_.bias;
    fusion.activation.lower_bound = problem_.relu ? 0.0f : -INFINITY;
    fusion.activation.upper_bound = INFINITY;
    if (!x_) {
      check_cutlass(Convolution::can_implement(arguments), "support");
      allow_shared_bytes(reinterpret_cast<const void*>(&cutlass::device_kernel<Kernel>),
                         Kernel::SharedStorageSize);
    }
    parameters_ = Kernel::to_underlying_arguments(arguments, nullptr);
    x_ = x;
    y_ = y;
  }

  CutlassProblem problem_;
  typename Kernel::Params parameters_;
  const float* x_ = nullptr;
  float* y_ = nullptr;
};

using Tiles = std::vector<std::unique_ptr<CutlassTile>>;

/// Tiles of up to 128 sums a thread; more would not stay in registers. Those of 64 sums and fewer stages leave room for
/// a second block on a multiprocessor, whose products then cover the first one's stores. Blocks of a cluster share the
/// filters (2x1) or the pixels (1x2), which TMA multicasts.
Tiles tiles_for(const CutlassProblem& problem) {
  Tiles tiles;
  tiles.push_back(std::make_unique<CutlassTileOf<128, 128, 2, 1, 0>>(problem));
  tiles.push_back(std::make_unique<CutlassTileOf<128, 128, 1, 2, 0>>(problem));
  tiles.push_back(std::make_unique<CutlassTileOf<64, 256, 2, 1, 0>>(problem));
  tiles.push_back(std::make_unique<CutlassTileOf<64, 128, 2, 1, 4>>(problem));
  tiles.push_back(std::make_unique<CutlassTileOf<64, 128, 1, 2, 4>>(problem));
  tiles.push_back(std::make_unique<CutlassTileOf<128, 64, 1, 2, 4>>(problem));
  tiles.push_back(std::make_unique<CutlassTileOf<64, 64, 2, 1, 4>>(problem));
  return tiles;
}

CutlassShape shape_of(const Conv2dProblem& problem) {
  return {cutlass::conv::Mode::kCrossCorrelation,
          {problem.n, problem.h, problem.w, problem.c},
          {problem.k, problem.r, problem.s, problem.c},
          {problem.pad_h, problem.pad_w},
          {problem.pad_h + problem.more_pad_h, problem.pad_w + problem.more_pad_w},
          {problem.stride_h, problem.stride_w},
          {problem.dilation_h, problem.dilation_w},
          problem.groups};
}

class CutlassConvolution : public ConvKernel {
 public:
  explicit CutlassConvolution(const ConvPrepare& request) {
    const std::vector<float> filters = channels_last(request.problem, request.weights);
    filters_ = request.services.upload(filters.data(), filters.size());
    if (request.bias) bias_ = request.services.upload(request.bias, static_cast<size_t>(request.problem.k));
    Tiles tiles =
        tiles_for({shape_of(request.problem), filters_.get(), bias_.get(), request.rectifier.relu()});
    request.choice.empty() ? choose(tiles, request) : replay(tiles, request.choice);
  }

  std::string detail() const override {
    return concat(tile_->name(), ": pixels x filters of a block, blocks of a cluster; ", tile_->stages(),
                  " stages, ", how_chosen_, ", CUTLASS ", CUTLASS_MAJOR, ".", CUTLASS_MINOR, ".",
                  CUTLASS_PATCH);
  }
  std::string choice() const override { return tile_->name(); }
  void convolve(const ConvArgs& args, RunContext& context) override {
    tile_->run(args.x, args.y, native(context.stream));
  }

 private:
  void choose(Tiles& tiles, const ConvPrepare& request) {
    const auto x_count = static_cast<size_t>(request.problem.input_shape().num_elements());
    const auto y_count = static_cast<size_t>(request.problem.output_shape().num_elements());
    size_t best = 0;
    how_chosen_ = concat("fastest of ", tiles.size(), " timed");
    try {
      const std::shared_ptr<float> x = request.services.upload(timing_values(x_count).data(), x_count);
      const std::shared_ptr<void> y = request.services.allocate(y_count * sizeof(float));
      double best_ns = INFINITY;
      for (size_t i = 0; i < tiles.size(); ++i) {
        const double ns = request.services.time_ns(
            [&] { tiles[i]->run(x.get(), static_cast<float*>(y.get()), native(request.stream)); });
        if (ns < best_ns) {
          best_ns = ns;
          best = i;
        }
      }
    } catch (const MemoryError&) {
      how_chosen_ = "the first (no memory to time the others)";
    }
    tile_ = std::move(tiles[best]);
  }

  void replay(Tiles& tiles, const std::string& choice) {
    std::string legal;
    for (std::unique_ptr<CutlassTile>& tile : tiles) {
      legal += (legal.empty() ? "" : ", ") + tile->name();
      if (tile->name() != choice) continue;
      tile_ = std::move(tile);
      how_chosen_ = "as planned";
      return;
    }
    throw UnavailableError(concat("cutlass has no tile '", choice, "' here; it has: ", legal));
  }

  std::shared_ptr<float> filters_, bias_;
  std::unique_ptr<CutlassTile> tile_;
  std::string how_chosen_;
};

}  // namespace

std::unique_ptr<ConvKernel> prepare_cutlass_hopper(const ConvPrepare& request) {
  return std::make_unique<CutlassConvolution>(request);
}

}  // namespace lenslet
