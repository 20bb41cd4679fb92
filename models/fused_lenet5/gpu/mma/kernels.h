// Internal: the kernels of the backend `mma`, and their parameters.
#pragma once

#include <vector>

#include "framework/device/gpu_limits.h"
#include "models/fused_lenet5/network_backend.h"

namespace lenslet::fused_lenet5 {

/// The columns of one product in the fully connected layers: images of a warp.
constexpr int kMmaImagesPerRound = 8;

/// One compiled kernel, (const Pixel* images, int64_t count, int images_per_round, const unsigned char* packed,
/// Output*, float* probabilities). In round r, warp w of block b of B blocks takes the images from
/// ((r * warps + w) * B + b) * images_per_round on; two images at a time divide the first round in two.
struct MmaKernel {
  const char* name;
  const void* function;
  int warps;             // per block; a multiprocessor runs one block
  int shared_bytes;      // per block
  int images_together;   // that a warp convolves
  int images_per_round;  // of a warp, at most: those whose fully connected layers it computes together
};

/// The kernel for that batch, input and output on that GPU. If none fits its shared memory, one that does not.
MmaKernel mma_fp16_kernel(const OperatorRequest& request, const GpuTraits& gpu);
MmaKernel mma_tf32_kernel(const OperatorRequest& request);
/// The kernel for images of bytes.
MmaKernel mma_int8_kernel(const OperatorRequest& request, const GpuTraits& gpu);

/// The parameters in the kernel's order.
std::vector<unsigned char> pack_mma_fp16(const Lenet5Parameters& parameters, ElementType input);
std::vector<unsigned char> pack_mma_tf32(const Lenet5Parameters& parameters, ElementType input);
/// For images of bytes.
std::vector<unsigned char> pack_mma_int8(const Lenet5Parameters& parameters);

}  // namespace lenslet::fused_lenet5
