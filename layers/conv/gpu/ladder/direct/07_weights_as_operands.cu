// Direct convolution, rung 07: C and K are known to the compiler, so that weights are operands and not loads.
//
// A multiply-add reads one operand directly from constant memory if the address is known at compile time. With all
// loops over channels, filters and taps unrolled, no weight needs a load. This suits RGB images, which have few
// filters.
#include "framework/base/error.h"
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

constexpr int kColumns = 4, kChannels = kRgbChannels;

// computes    y [N, K, P, Q] of x [N, 3, H, W], 3x3 filters, any padding, bias, optional ReLU
// work split  block = up to 8 rows x 128 columns of all K filters, thread = 4 neighbouring columns of K filters
// memory      shared: input tile [chunk, tile_h, pitch]; filters and biases in constant memory; registers: 4*K sums and
//             a row of inputs
// requires    C, K and stride as compiled, no dilation, groups = 1 (supports_rgb, RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <int K, int kStride>
__global__ void __launch_bounds__(256)
    conv_direct_weights_as_operands_kernel(const __grid_constant__ SmallBank bank, const RungShape shape,
                                           const float* __restrict__ x, float* __restrict__ y) {
  constexpr int kVectors = ((kColumns - 1) * kStride + 3 + 3) / 4;
  const RungBlock block(shape);
  float sums[K][kColumns];
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) sums[k][j] = bank.values[K * kChannels * 9 + k];
  }
  const float* plane = nullptr;
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    if (c % shape.chunk == 0) {
      plane = stage_rung_tile(shape, x, block, c) + threadIdx.y * kStride * shape.pitch +
              threadIdx.x * kColumns * kStride;
    } else {
      plane += shape.tile_h * shape.pitch;
    }
#pragma unroll
    for (int r = 0; r < 3; ++r) {
      float in[kVectors * 4];
      rung_read_vectors<kVectors>(plane + r * shape.pitch, in);
#pragma unroll
      for (int s = 0; s < 3; ++s) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
          const float weight = bank.values[((k * kChannels + c) * 3 + r) * 3 + s];
#pragma unroll
          for (int j = 0; j < kColumns; ++j) sums[k][j] = fmaf(weight, in[j * kStride + s], sums[k][j]);
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    rung_store_together(shape, y, block.n, k, block.p + threadIdx.y, block.q + threadIdx.x * kColumns,
                        sums[k]);
  }
}

template <int K>
BankLaunch<SmallBank>::Function of_stride(int stride) {
  if (stride == 1) return &conv_direct_weights_as_operands_kernel<K, 1>;
  return stride == 2 ? &conv_direct_weights_as_operands_kernel<K, 2>
                     : &conv_direct_weights_as_operands_kernel<K, 3>;
}

RungKernels choose(const Conv2dProblem& problem) {
  RungKernels kernels;
  kernels.small = problem.k == 1 ? of_stride<1>(problem.stride_h) : of_stride<kMaxFilters>(problem.stride_h);
  return kernels;
}

Support supports_rgb(const char* name, const Conv2dProblem& problem) {
  const bool rgb = problem.c == kChannels && (problem.k == 1 || problem.k == kMaxFilters) && problem.r == 3;
  if (rgb && supports_compiled_windows(name, problem)) return Support::yes();
  return Support::no(
      concat(name, " supports 3x3 from 3 channels to 1 or 3 at strides 1 to 3, without dilation, found ",
             window_text(problem), " from ", problem.c, " to ", problem.k, ": use direct"));
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_07_weights_as_operands() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.07_weights_as_operands";
    design.kernel_name = "conv_direct_weights_as_operands_kernel";
    design.supports = &supports_rgb;
    design.kernels = &choose;
    design.columns = kColumns;
    design.filters = kMaxFilters;
    design.uses_shared = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
