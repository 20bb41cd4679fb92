// Tensor cores, rung 19: a warp reads all that a pass stores before it stores the first of it.
//
// In rung 18 a tile of 64 positions x 128 filters is stored in four passes of a line for each position. Of a pass, a
// warp reads a pair of the bias, writes two pairs of sums, reads the next pair of the bias; and then reads a piece of a
// line, stores it, reads the next. The compiler cannot tell that no store changes what is read next, so each read waits
// for the store before it. Here a warp reads the bias of a pass, then writes its sums, then reads its pieces, and then
// stores them.
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"
#include "layers/conv/gpu/ladder/tensor_core/turns.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

/// As store_lines(), with the bias in shared memory.
struct ReadsTogether {
  template <class Output, int kSums>
  static __device__ __forceinline__ void store(const RungShape& shape, const Output& output,
                                               unsigned char* lines, int place, int first_filter,
                                               const float (&sums)[kSums]) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto piece_at = [&](int row, int piece) {
      return lines + row * kLineBytes + (piece ^ row % 4 * 2) * 16;
    };
#pragma unroll
    for (int line = 0; line < kSums * 2 / kLineFilters; ++line) {
      const int filter = first_filter + line * kLineFilters;
      float2 bias[kLineFilters / 8];
#pragma unroll
      for (int j = 0; j < kLineFilters / 8; ++j)
        bias[j] = *reinterpret_cast<const float2*>(output.bias + filter + j * 8 + lane % 4 * 2);
#pragma unroll
      for (int j = 0; j < kLineFilters / 8; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float* const two = sums + (line * kLineFilters / 8 + j) * 4 + half * 2;
          *reinterpret_cast<float2*>(piece_at(half * 8 + lane / 4, j * 2 + lane % 4 / 2) + lane % 2 * 8) =
              make_float2(relu_if(shape.relu, two[0] + bias[j].x), relu_if(shape.relu, two[1] + bias[j].y));
        }
      }
      __syncwarp();
      const int own_filter = filter + lane % 8 * 4;
      float4 pieces[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        pieces[i] = *reinterpret_cast<const float4*>(piece_at(i * 4 + lane / 8, lane % 8));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int target = __shfl_sync(kAllLanes, place, i * 4 + lane / 8);
        // The address is computed before the condition, so that the compiler makes no branches and leaves the reads
        // together.
        float* const piece = output.y + static_cast<int64_t>(target) * shape.k + own_filter;
        if (target != kDropped && own_filter < shape.k) *reinterpret_cast<float4*>(piece) = pieces[i];
      }
      __syncwarp();
    }
  }
};

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  persistent blocks with one tile of filters; tile = 64 positions x 128 filters or 192 x 64, of one of two
//             warpgroups; one warp copies
// memory      shared: all filters of a tile, then stages of a tile's positions and S - 1 more x kRuns times 32
//             channels, both swizzled, for each warp 16 lines of sums (128) or 8 positions of 16 filters (64), a
//             barrier for each warpgroup and each step, the bias; registers: 64 or 96 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32 * kRuns, K of 4, stride and dilation 1 (by RungBackend);
//             filters that fit (KeptFiltersConv); a grid of a multiple of the filter tiles
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
template <int kFilters, int kRuns>
__global__ void __launch_bounds__(kThreads, 1)
    conv_tensor_core_reads_together_kernel(const RungShape shape,
                                           const __grid_constant__ RungOperands operands) {
  walk_early<TurnTile<kFilters, kRuns>, ReadsTogether>(shape, operands);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_19_reads_together() {
  using namespace tensor_core_ladder;
  static const LadderBackend<KeptFiltersConv> backend([] {
    KeptDesign design = turn_design();
    design.name = "tensor_core.19_reads_together";
    design.kernel_name = "conv_tensor_core_reads_together_kernel";
    design.kernel_128_two_runs = &conv_tensor_core_reads_together_kernel<128, 2>;
    design.kernel_128 = &conv_tensor_core_reads_together_kernel<128, 1>;
    design.kernel_64 = &conv_tensor_core_reads_together_kernel<kRowFilters, 1>;
    design.early = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
