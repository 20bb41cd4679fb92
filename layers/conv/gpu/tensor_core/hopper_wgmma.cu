// Tensor-core convolution for Hopper with wgmma: stride 1, one group, NCHW, in fp16 also NHWC; see
// tensor_core/wgmma_kernel.cuh. This file: supported problems, tiling, the order of the filters in memory.
#include "layers/conv/gpu/tensor_core/hopper.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/base/integer_math.h"
#include "framework/instructions/operand_bits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/tensor_core/wgmma_kernel.cuh"

namespace lenslet {
namespace {

using WgmmaFunction = void (*)(WgmmaShape, const float*, const unsigned char*, const float*, float*);

constexpr int kMaxStages = 4, kMinStages = 3, kMaxSlices = 8, kMinSlices = 2;
constexpr int kBarriersBytes = kBarrierPairBytes * (kMaxStages + kMaxSlices + 2);

struct Variant {
  int pixels, filters, channels, lanes, stage_taps, tap_bytes, staging_bytes;
  int threads[2];           // [NHWC]
  WgmmaFunction kernel[2];  // [NHWC]
};

constexpr MathMode kTf32 = MathMode::kTf32, kFp16 = MathMode::kFp16;

template <MathMode kMath, int kTilesM, int kFilters, int kTaps>
constexpr Variant variant() {
  using Tile = WgmmaTile<kMath, false, kTilesM, kFilters, kTaps>;
  using NhwcTile = WgmmaTile<kFp16, true, kTilesM, kFilters, kTaps>;
  return {Tile::kPixels,
          kFilters,
          Tile::kChannels,
          Tile::kLanes,
          kTaps,
          Tile::kTapBytes,
          Tile::kConsumers * Tile::kStagingFloats * 4,
          {Tile::kThreads, NhwcTile::kThreads},
          {&conv_tensor_core_wgmma_kernel<Tile>,
           kMath == kFp16 ? &conv_tensor_core_wgmma_kernel<NhwcTile> : nullptr}};
}

constexpr Variant kVariants[2][6] = {
    {variant<kTf32, 2, 128, 5>(), variant<kTf32, 2, 128, 3>(), variant<kTf32, 2, 128, 1>(),
     variant<kTf32, 1, 64, 5>(), variant<kTf32, 1, 64, 3>(), variant<kTf32, 1, 64, 1>()},
    {variant<kFp16, 2, 128, 5>(), variant<kFp16, 2, 128, 3>(), variant<kFp16, 2, 128, 1>(),
     variant<kFp16, 1, 64, 5>(), variant<kFp16, 1, 64, 3>(), variant<kFp16, 1, 64, 1>()}};

/// The padded images of the batch as one row of pixels; see tensor_core/wgmma_kernel.cuh.
struct PaddedBatch {
  int64_t width, height, pixels, outputs;  // of an image; of the batch; up to the last output
  int64_t halo;                            // additional inputs after a run of outputs that its taps read

  explicit PaddedBatch(const Conv2dProblem& problem)
      : width(problem.q() + int64_t{problem.s - 1} * problem.dilation_w),
        height(problem.p() + int64_t{problem.r - 1} * problem.dilation_h),
        pixels(problem.n * height * width),
        outputs(pixels - int64_t{problem.r - 1} * problem.dilation_h * width - (width - problem.q())),
        halo(int64_t{problem.r - 1} * problem.dilation_h * width +
             int64_t{problem.s - 1} * problem.dilation_w) {}
};

/// Division of shared memory for a problem: the input ring gets the memory that the filters do not need.
struct SharedLayout {
  bool fits = false;
  int pitch = 0, blocks = 0, input_depth = 0, filter_depth = 0;
  int ring_offset = 0, staging_offset = 0, barrier_offset = 0, bytes = 0;

  SharedLayout(const Conv2dProblem& problem, const Variant& variant, const PaddedBatch& batch) {
    if (problem.r * problem.s % variant.stage_taps != 0) return;
    const int64_t wanted_blocks = ceil_div(variant.pixels + batch.halo, 32);
    // 4 modulo 8: WgmmaInputs::store() in wgmma_load.cuh has the reason.
    const int64_t wanted_pitch = round_up(variant.pixels + batch.halo + 4, 8) - 4;
    const int64_t slice_bytes = wanted_pitch * 2 * 16,
                  stage_bytes = int64_t{variant.stage_taps} * variant.tap_bytes;
    const int64_t left = GpuLimits::kHopperSharedBytes - variant.staging_bytes - kBarriersBytes;
    if (kMinSlices * slice_bytes + kMinStages * stage_bytes > left) return;
    fits = true;
    filter_depth =
        static_cast<int>(std::min<int64_t>(kMaxStages, (left - kMinSlices * slice_bytes) / stage_bytes));
    input_depth =
        static_cast<int>(std::min<int64_t>(kMaxSlices, (left - filter_depth * stage_bytes) / slice_bytes));
    pitch = static_cast<int>(wanted_pitch);
    blocks = static_cast<int>(wanted_blocks);
    ring_offset = static_cast<int>(input_depth * slice_bytes);
    staging_offset = ring_offset + filter_depth * static_cast<int>(stage_bytes);
    barrier_offset = staging_offset + variant.staging_bytes;
    bytes = barrier_offset + kBarriersBytes;
  }
};

int64_t tile_count(const Conv2dProblem& problem, const Variant& variant) {
  return ceil_div(PaddedBatch(problem).outputs, variant.pixels) * ceil_div(problem.k, variant.filters);
}

/// Estimated time of the busiest multiprocessor, including padding and dropped positions.
double cycles(const Conv2dProblem& problem, MathMode math, const Variant& variant, int multiprocessors) {
  const auto waves = static_cast<double>(ceil_div(tile_count(problem, variant), multiprocessors));
  // The stores of a tile and filling the pipeline cost about as much as the products of 64 channels.
  const double depth =
      static_cast<double>(round_up(problem.c, variant.channels)) * problem.r * problem.s + 64;
  // A narrow tile uses each read of operand A for half as many products. 1.5 is chosen by hand.
  const double narrow = variant.filters == 64 ? 1.5 : 1.0;
  const double products_per_cycle = math == MathMode::kTf32 ? 1024 : 2048;  // of a multiprocessor
  return waves * variant.pixels * variant.filters * depth * narrow / products_per_cycle;
}

struct Choice {
  const Variant* variant;
  double cycles;
};

Choice choose_variant(const Conv2dProblem& problem, MathMode math, int multiprocessors) {
  const PaddedBatch batch(problem);
  Choice best{nullptr, INFINITY};
  for (const Variant& candidate : kVariants[math == MathMode::kFp16]) {
    if (!SharedLayout(problem, candidate, batch).fits) continue;
    const double cost = cycles(problem, math, candidate, multiprocessors);
    if (cost < best.cycles) best = {&candidate, cost};
  }
  return best;
}

class TensorCoreWgmma
    : public OneLaunchConv<WgmmaShape, const float*, const unsigned char*, const float*, float*> {
 public:
  TensorCoreWgmma(const ConvPrepare& request, const Variant& variant, int multiprocessors)
      : variant_(variant) {
    const Conv2dProblem& problem = request.problem;
    const bool nhwc = problem.layout == TensorLayout::kNhwc;
    const PaddedBatch batch(problem);
    const SharedLayout shared(problem, variant, batch);
    set_unit_stride_sizes(shape_, problem);
    shape_.channel_pitch = nhwc ? 1 : problem.h * problem.w;
    shape_.image = problem.c * problem.h * problem.w;
    shape_.plane = problem.p() * problem.q();
    shape_.padded_pixels = static_cast<int>(batch.pixels);
    shape_.taps = problem.r * problem.s;
    shape_.s = problem.s;
    shape_.tap_row = static_cast<int>(problem.dilation_h * batch.width);
    shape_.tap_column = problem.dilation_w;
    shape_.pitch = shared.pitch;
    shape_.blocks = shared.blocks;
    shape_.slices = static_cast<int>(ceil_div(problem.c, variant.channels));
    shape_.tiles = static_cast<int>(tile_count(problem, variant));
    shape_.input_depth = shared.input_depth;
    shape_.filter_depth = shared.filter_depth;
    shape_.ring_offset = shared.ring_offset;
    shape_.staging_offset = shared.staging_offset;
    shape_.barrier_offset = shared.barrier_offset;
    shape_.by_padded_row = FastDivide(static_cast<int>(batch.width));
    shape_.by_padded_image = FastDivide(static_cast<int>(batch.height * batch.width));
    shape_.by_filter_tiles = FastDivide(static_cast<int>(ceil_div(problem.k, variant.filters)));
    shape_.relu = request.rectifier.relu();
    upload_filters(request);
    launch_ = {"conv_tensor_core_wgmma_kernel", variant.kernel[nhwc],
               static_cast<unsigned>(std::min(shape_.tiles, multiprocessors)),
               static_cast<unsigned>(variant.threads[nhwc]), static_cast<size_t>(shared.bytes)};
    detail_ =
        concat("wgmma, ", variant.pixels, " positions x ", variant.filters, " filters, ", shape_.input_depth,
               " slices of inputs, ", shape_.filter_depth, " stages of ", variant.stage_taps, " taps");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, reinterpret_cast<const unsigned char*>(filters_.get()),
            bias_.get(), args.y);
  }

 private:
  /// [K, C, R, S] to [filter tiles, slices, taps, pieces, filters] x 16 bytes: copied as it is, in runs of stage_taps
  /// taps.
  void upload_filters(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const bool tf32 = request.math == MathMode::kTf32;
    const int64_t filter_tiles = ceil_div(problem.k, variant_.filters);
    const int64_t bytes = filter_tiles * shape_.slices * shape_.taps * variant_.tap_bytes;
    std::vector<float> packed(static_cast<size_t>(bytes / 4), 0.0f);  // all zero bits, in fp16 too
    auto* target = reinterpret_cast<unsigned char*>(packed.data());
    const float* weight = request.weights;
    for (int k = 0; k < problem.k; ++k) {
      const int64_t filter_tile = k / variant_.filters, filter = k % variant_.filters;
      for (int c = 0; c < problem.c; ++c) {
        const int64_t slice = c / variant_.channels, piece = c % variant_.channels / variant_.lanes;
        for (int tap = 0; tap < shape_.taps; ++tap) {
          const int64_t row = (((filter_tile * shape_.slices + slice) * shape_.taps + tap) * 2 + piece);
          put_operand(target, (row * variant_.filters + filter) * variant_.lanes + c % variant_.lanes,
                      *weight++, tf32);
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, filter_tiles * variant_.filters);
  }

  Variant variant_;
  WgmmaShape shape_{};
  std::shared_ptr<float> filters_, bias_;
};

/// In NHWC it reads four channels at a time.
bool supports(const Conv2dProblem& problem, MathMode math) {
  const bool nhwc = problem.layout == TensorLayout::kNhwc;
  return problem.stride_h == 1 && problem.stride_w == 1 && problem.groups == 1 &&
         (!nhwc || (math == kFp16 && problem.c % 4 == 0)) &&
         PaddedBatch(problem).pixels <= GpuLimits::kElements;
}

}  // namespace

double wgmma_us(const Conv2dProblem& problem, MathMode math, int multiprocessors) {
  // With one tap it loads each slice of inputs for a single product.
  if (!supports(problem, math) || problem.r * problem.s == 1) return INFINITY;
  constexpr double kCyclesPerUs = 1755;  // the H200's clock in the trials
  // The time of this kernel over the estimate of cycles(): a parameter, fitted to trials on an H200 with
  // problems/resnet50.txt and problems/deep3x3.txt (not measured: a ratio to an estimate).
  const double slower = math == kTf32 ? 1.6 : 3.1;
  return choose_variant(problem, math, multiprocessors).cycles * slower / kCyclesPerUs;
}

std::unique_ptr<ConvKernel> prepare_tensor_core_wgmma(const ConvPrepare& request, int multiprocessors,
                                                      double cycles_to_beat) {
  if (!supports(request.problem, request.math)) return nullptr;
  const Choice choice = choose_variant(request.problem, request.math, multiprocessors);
  if (choice.cycles > cycles_to_beat) return nullptr;
  return std::make_unique<TensorCoreWgmma>(request, *choice.variant, multiprocessors);
}

}  // namespace lenslet
