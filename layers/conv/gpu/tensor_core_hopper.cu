// Tensor-core convolution for Hopper with wgmma: stride 1, one group, both layouts, tf32 or fp16; see
// tensor_core_hopper_kernel.cuh. Here: what it serves, how it is cut, the filters' order in memory.
#include "layers/conv/gpu/tensor_core_hopper.h"

#include <algorithm>
#include <vector>

#include "framework/cuda_check.h"
#include "framework/integer_math.h"
#include "framework/launch_resources.cuh"
#include "layers/conv/gpu/tensor_core_hopper_kernel.cuh"
#include "layers/conv/gpu/tensor_core_pack.h"

namespace lenslet {
namespace {

using HopperFunction = void (*)(HopperShape, const float*, const unsigned char*, const float*, float*);

constexpr int kSharedBytes = 227 * 1024;  // what a block of compute capability 9.0 may have
constexpr int kMostStages = 8, kLeastStages = 3;
constexpr int kBarrierBytes = 32 + 16 * kMostStages;

struct Variant {
  int pixels, filters, steps, channels, lanes, threads, stage_bytes, staging_bytes;
  HopperFunction kernel[2];  // [NHWC]
};

template <MathMode kMath, int kSteps, int kTilesM, int kFilters>
constexpr Variant variant() {
  using Tile = HopperTile<kMath, false, kSteps, kTilesM, kFilters>;
  return {Tile::kPixels,
          kFilters,
          kSteps,
          Tile::kChannels,
          Tile::kLanes,
          Tile::kThreads,
          Tile::kStageBytes,
          Tile::kConsumers * Tile::kStagingBytes,
          {&conv_tensor_core_wgmma_kernel<Tile>,
           &conv_tensor_core_wgmma_kernel<HopperTile<kMath, true, kSteps, kTilesM, kFilters>>}};
}

constexpr MathMode kTf32 = MathMode::kTf32, kFp16 = MathMode::kFp16;
constexpr Variant kVariants[2][6] = {
    {variant<kTf32, 4, 2, 128>(), variant<kTf32, 2, 2, 128>(), variant<kTf32, 1, 2, 128>(),
     variant<kTf32, 4, 1, 64>(), variant<kTf32, 2, 1, 64>(), variant<kTf32, 1, 1, 64>()},
    {variant<kFp16, 4, 2, 128>(), variant<kFp16, 2, 2, 128>(), variant<kFp16, 1, 2, 128>(),
     variant<kFp16, 4, 1, 64>(), variant<kFp16, 2, 1, 64>(), variant<kFp16, 1, 1, 64>()}};

/// The padded images of the batch as one row of pixels; see tensor_core_hopper_kernel.cuh.
struct PaddedBatch {
  int64_t width, height, pixels, outputs;  // of an image; of the batch; up to the last output
  int64_t halo;                            // inputs behind a run of outputs, beyond the run itself

  explicit PaddedBatch(const Conv2dProblem& problem)
      : width(problem.q() + int64_t{problem.s - 1} * problem.dilation_w),
        height(problem.p() + int64_t{problem.r - 1} * problem.dilation_h),
        pixels(problem.n * height * width),
        outputs(pixels - int64_t{problem.r - 1} * problem.dilation_h * width - (width - problem.q())),
        halo(int64_t{problem.r - 1} * problem.dilation_h * width +
             int64_t{problem.s - 1} * problem.dilation_w) {}
};

/// How a variant divides shared memory for a problem; stages < kLeastStages where it does not fit.
struct SharedPlan {
  int pitch = 0, ring_offset = 0, staging_offset = 0, barrier_offset = 0, bytes = 0, stages = 0;

  SharedPlan(const Variant& choice, const PaddedBatch& batch) {
    const int64_t wanted = (choice.pixels + batch.halo) | 1;
    const int64_t fixed = 2 * wanted * choice.steps * 2 * 16 + choice.staging_bytes + kBarrierBytes + 128;
    stages =
        fixed > kSharedBytes
            ? 0
            : static_cast<int>(std::min<int64_t>(kMostStages, (kSharedBytes - fixed) / choice.stage_bytes));
    if (stages < kLeastStages) return;
    pitch = static_cast<int>(wanted);
    ring_offset = static_cast<int>(round_up(2 * wanted * choice.steps * 2 * 16, 128));
    staging_offset = ring_offset + stages * choice.stage_bytes;
    barrier_offset = staging_offset + choice.staging_bytes;
    bytes = barrier_offset + kBarrierBytes;
  }
};

int64_t tile_count(const Conv2dProblem& problem, const Variant& choice) {
  return ceil_div(PaddedBatch(problem).outputs, choice.pixels) * ceil_div(problem.k, choice.filters);
}

/// Products of the busiest multiprocessor, padding and dropped positions included.
double busiest(const Conv2dProblem& problem, const Variant& choice, int multiprocessor_count) {
  const auto waves = static_cast<double>(ceil_div(tile_count(problem, choice), multiprocessor_count));
  // A tile pays for its stores, and for filling the pipeline, as much as for some 50 channels' products.
  const double depth = static_cast<double>(round_up(problem.c, choice.channels)) * problem.r * problem.s + 64;
  const double narrow = choice.filters == 64 ? 1.5 : 1.0;  // operand A is read for half as many products
  return waves * choice.pixels * choice.filters * depth * narrow;
}

const Variant* choose_variant(const Conv2dProblem& problem, MathMode math, int multiprocessor_count) {
  const PaddedBatch batch(problem);
  const Variant* best = nullptr;
  double best_cost = 0;
  for (const Variant& candidate : kVariants[math == MathMode::kFp16]) {
    if (SharedPlan(candidate, batch).stages < kLeastStages) continue;
    const double cost = busiest(problem, candidate, multiprocessor_count);
    if (!best || cost < best_cost) {
      best = &candidate;
      best_cost = cost;
    }
  }
  return best;
}

class TensorCoreHopper : public ConvKernel {
 public:
  TensorCoreHopper(const ConvPrepare& request, const Variant& choice, int multiprocessor_count)
      : variant_(choice), kernel_(choice.kernel[request.problem.layout == TensorLayout::kNhwc]) {
    const Conv2dProblem& problem = request.problem;
    const PaddedBatch batch(problem);
    const SharedPlan plan(choice, batch);
    shared_bytes_ = plan.bytes;
    shape_.c = problem.c;
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.channel_pitch = problem.layout == TensorLayout::kNhwc ? 1 : problem.h * problem.w;
    shape_.image = problem.c * problem.h * problem.w;
    shape_.pad_h = problem.pad_h;
    shape_.pad_w = problem.pad_w;
    shape_.k = problem.k;
    shape_.p = problem.p();
    shape_.q = problem.q();
    shape_.plane = problem.p() * problem.q();
    shape_.padded_pixels = static_cast<int>(batch.pixels);
    shape_.taps = problem.r * problem.s;
    shape_.s = problem.s;
    shape_.tap_row = static_cast<int>(problem.dilation_h * batch.width);
    shape_.tap_column = problem.dilation_w;
    shape_.length = static_cast<int>(choice.pixels + batch.halo);
    shape_.pitch = plan.pitch;
    shape_.chunks = static_cast<int>(ceil_div(problem.c, choice.channels));
    shape_.tiles = static_cast<int>(tile_count(problem, choice));
    shape_.stages = plan.stages;
    shape_.ring_offset = plan.ring_offset;
    shape_.staging_offset = plan.staging_offset;
    shape_.barrier_offset = plan.barrier_offset;
    shape_.by_padded_row = FastDivide(static_cast<int>(batch.width));
    shape_.by_padded_image = FastDivide(static_cast<int>(batch.height * batch.width));
    shape_.by_filter_tiles = FastDivide(static_cast<int>(ceil_div(problem.k, choice.filters)));
    shape_.relu = request.relu;
    blocks_ = static_cast<unsigned>(std::min(shape_.tiles, multiprocessor_count));
    upload_filters(request);
    LENSLET_CUDA_CHECK(
        cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes_));
  }
  std::string detail() const override {
    return concat("wgmma, ", variant_.pixels, " positions x ", variant_.filters, " filters x ",
                  variant_.channels, " channels, ", shape_.stages, " stages");
  }
  std::vector<LaunchResources> launches() const override {
    return {launch_resources("conv_tensor_core_wgmma_kernel", reinterpret_cast<const void*>(kernel_),
                             variant_.threads, static_cast<size_t>(shared_bytes_))};
  }
  void run(const ConvArgs& args, RunContext& context) override {
    kernel_<<<blocks_, static_cast<unsigned>(variant_.threads), static_cast<size_t>(shared_bytes_),
              static_cast<cudaStream_t>(context.stream.native_handle())>>>(
        shape_, args.x, reinterpret_cast<const unsigned char*>(filters_.get()), bias_.get(), args.y);
    LENSLET_CUDA_CHECK_LAUNCH("conv_tensor_core_wgmma_kernel");
  }

 private:
  /// [K, C, R, S] to [filter tiles, chunks, taps] stages of [pieces][filters] x 16 bytes: each is copied as it is.
  void upload_filters(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const bool tf32 = request.math == MathMode::kTf32;
    const int64_t filter_tiles = ceil_div(problem.k, variant_.filters);
    const int64_t stage_elements = int64_t{variant_.channels} * variant_.filters;
    const int64_t bytes = filter_tiles * shape_.chunks * shape_.taps * variant_.stage_bytes;
    std::vector<float> packed(static_cast<size_t>(bytes / 4), 0.0f);  // all zero bits, in fp16 too
    auto* target = reinterpret_cast<unsigned char*>(packed.data());
    const float* weight = request.weights;
    for (int k = 0; k < problem.k; ++k) {
      const int64_t filter_tile = k / variant_.filters, filter = k % variant_.filters;
      for (int c = 0; c < problem.c; ++c) {
        const int64_t chunk = c / variant_.channels, piece = c % variant_.channels / variant_.lanes;
        for (int tap = 0; tap < shape_.taps; ++tap) {
          const int64_t stage = (filter_tile * shape_.chunks + chunk) * shape_.taps + tap;
          put_operand(target,
                      stage * stage_elements + (piece * variant_.filters + filter) * variant_.lanes +
                          c % variant_.lanes,
                      *weight++, tf32);
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    std::vector<float> bias(static_cast<size_t>(filter_tiles * variant_.filters), 0.0f);
    if (request.bias) std::copy_n(request.bias, problem.k, bias.begin());
    bias_ = request.services.upload(bias.data(), bias.size());
  }

  Variant variant_;
  HopperFunction kernel_;
  HopperShape shape_{};
  unsigned blocks_ = 0;
  int shared_bytes_ = 0;
  std::shared_ptr<float> filters_, bias_;
};

}  // namespace

std::unique_ptr<ConvKernel> prepare_tensor_core_hopper(const ConvPrepare& request, int multiprocessor_count) {
  const Conv2dProblem& problem = request.problem;
  if (problem.stride_h != 1 || problem.stride_w != 1 || problem.groups != 1) return nullptr;
  if (problem.layout == TensorLayout::kNhwc && problem.c % 4 != 0) return nullptr;  // it reads four at a time
  if (PaddedBatch(problem).pixels > INT32_MAX - 4096) return nullptr;
  const Variant* choice = choose_variant(problem, request.math, multiprocessor_count);
  if (!choice) return nullptr;
  return std::make_unique<TensorCoreHopper>(request, *choice, multiprocessor_count);
}

}  // namespace lenslet
