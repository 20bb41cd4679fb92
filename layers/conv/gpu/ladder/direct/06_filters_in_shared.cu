// Direct convolution, rung 06: the filters are staged in shared memory beside the input tile.
//
// A weight in constant memory needs one load per 4 multiply-adds, replayed if a warp has several groups of filters.
// Packed as [C, R, S, groups, 4], the weights of four filters are one float4, the same for all threads of a group.
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

constexpr int kColumns = 4, kFilters = 4;

// computes    y [N, K, P, Q] of x [N, C, H, W], kWindow x kWindow filters, any padding, bias, optional ReLU
// work split  block = up to 8 rows x 128 columns of 4 filters a group; thread = 4 neighbouring columns of 4 filters
// memory      shared: input tile [chunk, tile_h, pitch], pitch a multiple of 4 that leaves room to read past the last
//             column, then filters [chunk, kWindow, kWindow, groups of the block, 4]; registers: 16 sums, a row of
//             inputs
// requires    square window and stride as compiled, no dilation, groups = 1, a tile that fits 48 KiB (RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <int kWindow, int kStride>
__global__ void __launch_bounds__(256)
    conv_direct_filters_in_shared_kernel(const RungShape shape, const float* __restrict__ x,
                                         const float* __restrict__ filters,  // [K, C, R, S]
                                         const float* __restrict__ bias,     // [K]
                                         float* __restrict__ y) {
  constexpr int kVectors = ((kColumns - 1) * kStride + kWindow + 3) / 4, kTaps = kWindow * kWindow;
  const RungBlock block(shape);
  const int k0 = block.k + threadIdx.z * kFilters;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  float* staged = reinterpret_cast<float*>(rung_shared) + shape.chunk * shape.tile_h * shape.pitch;
  float sums[kFilters][kColumns];
#pragma unroll
  for (int k = 0; k < kFilters; ++k) {
    const float start = __ldg(bias + min(k0 + k, shape.k - 1));  // past the last filter: not stored
#pragma unroll
    for (int j = 0; j < kColumns; ++j) sums[k][j] = start;
  }
  for (int c0 = 0; c0 < shape.c; c0 += shape.chunk) {
    const int channels = min(shape.chunk, shape.c - c0), weights = channels * kTaps;
    __syncthreads();  // until no thread needs the previous filters
    for (int k = 0; k < shape.tile_k; ++k) {
      const float* source =
          filters + (static_cast<int64_t>(min(block.k + k, shape.k - 1)) * shape.c + c0) * kTaps;
      for (int i = thread; i < weights; i += threads) staged[i * shape.tile_k + k] = __ldg(source + i);
    }
    const float* tile = stage_rung_tile(shape, x, block, c0);
    const float* plane = tile + threadIdx.y * kStride * shape.pitch + threadIdx.x * kColumns * kStride;
    const float* weight = staged + threadIdx.z * kFilters;
    for (int c = 0; c < channels; ++c, plane += shape.tile_h * shape.pitch) {
#pragma unroll
      for (int r = 0; r < kWindow; ++r) {
        float in[kVectors * 4];
        rung_read_vectors<kVectors>(plane + r * shape.pitch, in);
#pragma unroll
        for (int s = 0; s < kWindow; ++s, weight += shape.tile_k) {
          float four[kFilters];
          rung_read_vectors<1>(weight, four);
#pragma unroll
          for (int k = 0; k < kFilters; ++k) {
#pragma unroll
            for (int j = 0; j < kColumns; ++j) sums[k][j] = fmaf(four[k], in[j * kStride + s], sums[k][j]);
          }
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kFilters; ++k) {
    rung_store_together(shape, y, block.n, k0 + k, block.p + threadIdx.y, block.q + threadIdx.x * kColumns,
                        sums[k]);
  }
}

template <int kWindow, int kStride>
struct Kernels {
  static RungKernels get() {
    RungKernels kernels;
    kernels.global = &conv_direct_filters_in_shared_kernel<kWindow, kStride>;
    return kernels;
  }
};

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_06_filters_in_shared() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.06_filters_in_shared";
    design.kernel_name = "conv_direct_filters_in_shared_kernel";
    design.supports = &supports_compiled_windows;
    design.kernels = &by_window<Kernels>;
    design.columns = kColumns;
    design.filters = kFilters;
    design.shares_input = true;
    design.uses_shared = true;
    design.stages_filters = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
