// Convolution on tensor cores, tf32 or fp16 operands, fp32 sums: per group,
//   y [K/G, N*P*Q] = w [K/G, C/G*R*S] x im2col(x) [C/G*R*S, N*P*Q]
//
// x, w and y are fp32 in memory; operands are rounded to nearest (tf32: 10 bits after the leading one, fp16: 10 bits
// and its smaller range) before the tensor cores, which sum in fp32. tma also takes tensors of fp16 and bf16, and few
// reads and writes fp16 between layers. There are four kernels. few is taken for what it supports; else, on Hopper, the
// faster of tma and wgmma by estimate, wgmma only if it is also estimated faster than mma; else mma:
//   few    NCHW, up to 16 filters and few channels, whole images in shared memory, also with 2x2 pooling:
//          tensor_core/few.cu
//   tma    Hopper (compute capability 9.0 exactly), one group, 16 channels and 32 filters or more:
//          tensor_core/hopper_tma.cu, with two kernels: tma_kernel.cuh, and tma_kept.cuh for filters that fit shared
//          memory
//   wgmma  Hopper, stride 1, one group, NCHW, in fp16 also NHWC: tensor_core/hopper_wgmma.cu
//   mma    everything else from compute capability 8.0 up: implicit GEMM, gathered by a table of offsets as
//          implicit_gemm does. S. Chetlur et al., "cuDNN: efficient primitives for deep learning",
//          arXiv:1410.0759 (2014), section 3; fragments of mma.sync after the PTX ISA's matrix layouts.
#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/base/integer_math.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"
#include "layers/conv/gpu/tensor_core/few.h"
#include "layers/conv/gpu/tensor_core/hopper.h"
#include "layers/conv/gpu/tensor_core/mma.cuh"
#include "layers/conv/gpu/tensor_core/pack.h"

namespace lenslet {
namespace {

using MmaFunction = void (*)(TensorCoreMmaShape, const float*, const unsigned char*, const float*,
                             const TensorCoreTap*, float*);

struct Variant {
  int block_m, block_n, block_k, threads, shared_bytes;
  double efficiency;         // of the inner loop with every multiprocessor full, relative to the largest tile
  MmaFunction kernel[2][2];  // [fp16][NHWC]
};

template <int kM, int kN, int kWarpsM, int kWarpsN>
constexpr Variant variant(double efficiency) {
  constexpr MathMode kTf32 = MathMode::kTf32, kFp16 = MathMode::kFp16;
  using Tile = TensorCoreMmaTile<kTf32, false, kM, kN, kWarpsM, kWarpsN>;  // fp16 takes less shared memory
  return {kM,
          kN,
          Tile::kBlockK,
          Tile::kThreads,
          Tile::kSharedBytes,
          efficiency,
          {{&conv_tensor_core_mma_kernel<Tile>,
            &conv_tensor_core_mma_kernel<TensorCoreMmaTile<kTf32, true, kM, kN, kWarpsM, kWarpsN>>},
           {&conv_tensor_core_mma_kernel<TensorCoreMmaTile<kFp16, false, kM, kN, kWarpsM, kWarpsN>>,
            &conv_tensor_core_mma_kernel<TensorCoreMmaTile<kFp16, true, kM, kN, kWarpsM, kWarpsN>>}}};
}

// The smaller a tile, the more often an operand is fetched; the more blocks, the more multiprocessors a small problem
// reaches. Few filters need a flat tile. Each number is the tile's share of the largest one's rate, chosen by hand.
constexpr Variant kVariants[] = {
    variant<128, 128, 2, 4>(1.0), variant<64, 128, 2, 4>(0.85), variant<32, 128, 1, 4>(0.6),
    variant<16, 128, 1, 4>(0.35), variant<64, 64, 2, 2>(0.6),   variant<32, 32, 2, 2>(0.3),
};

struct Choice {
  const Variant* variant;
  double cycles;  // estimated
};

/// The variant that fits the GPU and whose busiest multiprocessor has the least to do.
Choice choose_variant(const Conv2dProblem& problem, const GpuTraits& gpu) {
  // The rate of a multiprocessor with the largest tile, an estimate as the shares above; the gather binds in any mode.
  constexpr double kProductsPerCycle = 180;
  Choice best{nullptr, INFINITY};
  for (const Variant& candidate : kVariants) {
    if (static_cast<size_t>(candidate.shared_bytes) > gpu.shared_bytes_per_block_optin) continue;
    const int64_t waves =
        ceil_div(group_tiles(problem, candidate, problem.q()) * problem.groups, gpu.multiprocessors);
    const int64_t depth = round_up(conv_terms(problem) - 1, candidate.block_k);
    const double cycles = static_cast<double>(waves * depth) * candidate.block_m * candidate.block_n /
                          (candidate.efficiency * kProductsPerCycle);
    if (cycles < best.cycles) best = {&candidate, cycles};
  }
  return best;
}

/// Distance in elements between neighbouring pixels and between neighbouring rows of x.
int64_t column_pitch(const Conv2dProblem& problem) {
  return problem.layout == TensorLayout::kNhwc ? problem.c : 1;
}
int64_t row_pitch(const Conv2dProblem& problem) { return problem.w * column_pitch(problem); }

/// The largest offset of a window's corner from the input's start, or of a tap from its corner; see TensorCoreTap.
int64_t largest_offset(const Conv2dProblem& problem) {
  const int64_t image = int64_t{problem.c} * problem.h * problem.w;
  const int64_t padding = problem.pad_h * row_pitch(problem) + problem.pad_w * column_pitch(problem);
  const int64_t tap = int64_t{problem.r - 1} * problem.dilation_h * row_pitch(problem) +
                      int64_t{problem.s - 1} * problem.dilation_w * column_pitch(problem) + image;
  return std::max(problem.n * image + padding, tap);
}

class TensorCoreMma : public OneLaunchConv<TensorCoreMmaShape, const float*, const unsigned char*,
                                           const float*, const TensorCoreTap*, float*> {
 public:
  TensorCoreMma(const ConvPrepare& request, const Variant& variant) : variant_(variant) {
    const Conv2dProblem& problem = request.problem;
    const int taps = problem.c / problem.groups * problem.r * problem.s;
    set_shape(problem, static_cast<int>(ceil_div(taps, variant.block_k)));
    shape_.relu = request.rectifier.relu();
    upload_taps_and_filters(request, taps);
    launch_ = {"conv_tensor_core_mma_kernel",
               variant.kernel[request.math == MathMode::kFp16][problem.layout == TensorLayout::kNhwc],
               dim3(static_cast<unsigned>(group_tiles(problem, variant, problem.q())),
                    static_cast<unsigned>(problem.groups)),
               static_cast<unsigned>(variant.threads), static_cast<size_t>(variant.shared_bytes)};
    detail_ = concat("mma, ", variant.block_m, " filters x ", variant.block_n, " positions per block");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, reinterpret_cast<const unsigned char*>(filters_.get()),
            bias_.get(), static_cast<const TensorCoreTap*>(taps_.get()), args.y);
  }

 private:
  void set_shape(const Conv2dProblem& problem, int steps) {
    const bool nhwc = problem.layout == TensorLayout::kNhwc;
    const int group_channels = problem.c / problem.groups;
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.row_pitch = static_cast<int>(row_pitch(problem));
    shape_.column_pitch = static_cast<int>(column_pitch(problem));
    shape_.image = problem.c * problem.h * problem.w;
    shape_.group_input = nhwc ? group_channels : group_channels * problem.h * problem.w;
    shape_.k = problem.k;
    shape_.group_filters = problem.k / problem.groups;
    shape_.plane = problem.p() * problem.q();
    shape_.positions = problem.n * shape_.plane;
    shape_.steps = steps;
    shape_.filter_tiles = static_cast<int>(ceil_div(shape_.group_filters, variant_.block_m));
    set_strides(shape_, problem);
    shape_.filter_pitch = nhwc ? 1 : shape_.plane;
    shape_.pixel_pitch = nhwc ? problem.k : 1;
    shape_.by_filter_tiles = FastDivide(shape_.filter_tiles);
    shape_.by_plane = FastDivide(shape_.plane);
    shape_.by_q = FastDivide(problem.q());
    shape_.pair_store = !nhwc && shape_.plane % 2 == 0;
  }

  /// Taps in the order in which memory has them (NCHW: c outermost, NHWC: c innermost), the filters in the same order:
  /// [K, C/G, R, S] to [G, filter tiles, steps] blocks of block_m x block_k, each in the order of mma's fragments.
  void upload_taps_and_filters(const ConvPrepare& request, int taps) {
    const Conv2dProblem& problem = request.problem;
    const bool nhwc = problem.layout == TensorLayout::kNhwc, tf32 = request.math == MathMode::kTf32;
    const int channels = problem.c / problem.groups, window = problem.r * problem.s;
    const int depth = tf32 ? 8 : 16, block_k = variant_.block_k, block_m = variant_.block_m;
    const int64_t tiles = shape_.filter_tiles, steps = shape_.steps;
    const int64_t channel_pitch = nhwc ? 1 : int64_t{problem.h} * problem.w;
    std::vector<TensorCoreTap> table(static_cast<size_t>(steps * block_k),
                                     TensorCoreTap{0, TensorCoreTap::kNowhere, 0});
    const int64_t step_elements = int64_t{block_m} * block_k;
    const int64_t bytes = problem.groups * tiles * steps * step_elements * (tf32 ? 4 : 2);
    std::vector<float> packed(static_cast<size_t>(ceil_div(bytes, 4)), 0.0f);  // all zero bits, in fp16 too
    auto* target = reinterpret_cast<unsigned char*>(packed.data());
    for (int tap = 0; tap < taps; ++tap) {
      const int c = nhwc ? tap % channels : tap / window, rs = nhwc ? tap / channels : tap % window;
      const int dh = rs / problem.s * problem.dilation_h, dw = rs % problem.s * problem.dilation_w;
      table[static_cast<size_t>(tap)] = {
          static_cast<int>(c * channel_pitch + dh * row_pitch(problem) + dw * column_pitch(problem)), dh, dw};
      const int step = tap / block_k, column = tap % block_k;
      for (int k = 0; k < problem.k; ++k) {
        const int group = k / shape_.group_filters, filter = k % shape_.group_filters, row = filter % block_m;
        const int64_t block = (group * tiles + filter / block_m) * steps + step;
        const int64_t fragment = int64_t{column / depth} * (block_m / 16) + row / 16;
        put_operand(
            target,
            block * step_elements + fragment * 16 * depth + fragment_index(row % 16, column % depth, tf32),
            request.weights[(int64_t{k} * channels + c) * window + rs], tf32);
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    taps_ = upload_table(request, table);
    bias_ = upload_bias(request, tiles * block_m);
  }

  Variant variant_;
  TensorCoreMmaShape shape_{};
  std::shared_ptr<float> filters_, bias_;
  std::shared_ptr<void> taps_;
};

Support gpu_supports(int capability) {
  return needs_capability("tensor_core needs tf32 and cp.async,", GpuLimits::kAsyncCopies, capability,
                          "choose math fp32");
}

Support gpu_takes_16_bits(int capability) {
  if (capability == GpuLimits::kWgmma) return Support::yes();
  return Support::no(
      concat("tensor_core takes fp16 and bf16 tensors on Hopper, compute capability 9.0, found ",
             capability / 10, ".", capability % 10, ": use cudnn, or fp32 tensors"));
}

class TensorCoreBackend : public SummingBackend {
 public:
  bool takes(ElementType type) const override { return is_float(type); }
  Support fuses_max_pool(const Conv2dProblem& problem, MathMode /*math*/,
                         const Pool2dWindow& window) const override {
    if (const Support fits = windows_fit(problem, window); !fits) return fits;
    if (!window.is_halving()) {
      return Support::no(concat("tensor_core pools 2x2 windows with stride 2, found ", window.r, "x",
                                window.s, " with stride ", window.stride_h, "x", window.stride_w,
                                kLeavePooling));
    }
    return few_support("tensor_core fuses max pooling only", problem, true, kLeavePooling);
  }
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode math) const override {
    return tma_workspace_bytes(problem, math);
  }
  // The other kernels need none.
  size_t min_workspace_bytes(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override { return 0; }
  // The number of output pixels, and so the batch, decides among kernels with different orders of sums.
  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return Determinism::kBitwise;
  }
  bool suits(const Conv2dProblem& problem, MathMode math) const override {
    return SummingBackend::suits(problem, math) || few_suits(problem);
  }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (problem.type != ElementType::kFp32) {
      if (const Support limits = own_kernel_limits("tensor_core", problem); !limits) return limits;
      if (const Support taken = tma_takes_16_bits(problem); !taken) return taken;
      return current_gpu_supports(gpu_takes_16_bits);
    }
    if (math == MathMode::kFp32) {
      return Support::no(
          "tensor_core rounds its operands to tf32 or fp16, not fp32: choose math tf32 or fp16");
    }
    if (const Support limits = own_kernel_limits("tensor_core", problem); !limits) return limits;
    const int64_t reach = largest_offset(problem);
    if (const Support fits = offsets_fit("tensor_core", problem, reach, TensorCoreTap::kNowhere); !fits)
      return fits;
    if (const Support groups = groups_fit_grid("tensor_core", problem); !groups) return groups;
    return current_gpu_supports(gpu_supports);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const GpuTraits gpu = gpu_traits(request.stream.device());
    if (const Support support = gpu_supports(gpu.compute_capability); !support)
      throw UnavailableError(support.reason());
    if (request.problem.type != ElementType::kFp32) {
      if (const Support support = gpu_takes_16_bits(gpu.compute_capability); !support)
        throw UnavailableError(support.reason());
      return prepare_tensor_core_tma(request, gpu.multiprocessors, INFINITY);
    }
    if (auto kernel = prepare_tensor_core_few(request, gpu.multiprocessors)) return kernel;
    const Choice choice = choose_variant(request.problem, gpu);
    if (gpu.compute_capability == GpuLimits::kWgmma) {
      const double us_to_beat = wgmma_us(request.problem, request.math, gpu.multiprocessors);
      if (auto kernel = prepare_tensor_core_tma(request, gpu.multiprocessors, us_to_beat)) return kernel;
      if (auto kernel = prepare_tensor_core_wgmma(request, gpu.multiprocessors, choice.cycles)) return kernel;
    }
    return std::make_unique<TensorCoreMma>(request, *choice.variant);
  }
  Support do_takes_ends(const Conv2dProblem& problem, MathMode math, const ConvEnds& ends,
                        const std::optional<Pool2dWindow>& max_pool) const override {
    if (math != MathMode::kFp16) return refuse_ends(ends.x, ends.y, ": choose math fp16, or leave them fp32");
    return few_takes(problem, max_pool.has_value(), ends);
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_tensor_core, TensorCoreBackend())

}  // namespace lenslet
