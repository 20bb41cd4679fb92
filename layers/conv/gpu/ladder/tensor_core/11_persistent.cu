// Tensor cores, rung 11: persistent blocks.
//
// A block of rung 09 ends with its tile: while it stores, it copies nothing, and the next block in its place begins
// with an empty ring. Here as many blocks as fit the GPU walk through all tiles, and the copying warp goes on to the
// next tile while this one's sums are stored. It continues 09, because 10 is slower.
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  persistent blocks, tile = 128 positions x 128 filters, warpgroup = 64 x 128; one warp copies
// memory      shared: three stages of 128 positions and 128 filters x 32 channels, swizzled; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_persistent_kernel(const RungShape shape, const __grid_constant__ RungOperands operands) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t stages = shared_address(shared);
  walk_tiles(shape, operands, stages, stages + kStages * kStageBytes,
             [&](int position, int filter, const float(&sums)[kBlock / 2]) {
#pragma unroll
               for (int j = 0; j < kBlock / 8; j += 2)
                 rung_store_16x16(shape, operands, position, filter + j * 8, sums + j * 4, sums + j * 4 + 4);
             });
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_11_persistent() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.11_persistent";
    design.kernel_name = "conv_tensor_core_persistent_kernel";
    design.kernel = &conv_tensor_core_persistent_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    design.shared_bytes = kRingBytes;
    design.tensor_copies = true;
    design.resident_blocks = 2;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
