// The kernels of the ReLU layer, by device. Internal to this folder.
#pragma once

#include <cstdint>

namespace lenslet {

/// x and y may be the same.
void relu_direct_cpu(const float* x, float* y, int64_t count);
/// Enqueues on `stream`, a cudaStream_t; x and y may be the same. Throws DeviceError.
void relu_direct_gpu(const float* x, float* y, int64_t count, void* stream);

}  // namespace lenslet
