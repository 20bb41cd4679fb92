// Tensor cores, rung 12: sums are stored in whole lines.
//
// wgmma leaves eight rows of a product in neighbouring lanes, so a store of rung 11 touches eight lines of memory and
// writes half of each. Here a warp's sums pass through shared memory, and a store writes four whole lines.
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  persistent blocks, tile = 128 positions x 128 filters, warpgroup = 64 x 128; one warp copies
// memory      shared: three stages of 128 positions and 128 filters x 32 channels, swizzled, and 16 lines of sums for
//             each warp; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_whole_lines_kernel(const RungShape shape,
                                        const __grid_constant__ RungOperands operands) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t stages = shared_address(shared);
  unsigned char* const lines = shared + kStages * kStageBytes;
  walk_tiles(shape, operands, stages, stages + kStages * kStageBytes + kWarps * kLinesBytes,
             [&](int position, int filter, const float(&sums)[kBlock / 2]) {
               const int output = position + static_cast<int>(threadIdx.x % 16);
               store_lines(shape, operands, lines + threadIdx.x / 32 * kLinesBytes,
                           output < shape.positions ? output : kDropped, filter, sums);
             });
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_12_whole_lines() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.12_whole_lines";
    design.kernel_name = "conv_tensor_core_whole_lines_kernel";
    design.kernel = &conv_tensor_core_whole_lines_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    design.shared_bytes = kRingBytes + kWarps * kLinesBytes;
    design.tensor_copies = true;
    design.resident_blocks = 2;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
