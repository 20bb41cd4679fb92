// The kernels of the softmax layer, by device: x and y [rows, classes]. Internal to this folder.
#pragma once

#include <cstdint>

namespace lenslet {

void softmax_direct_cpu(const float* x, float* y, int64_t rows, int64_t classes);
/// Enqueues on `stream`, a cudaStream_t. Throws DeviceError.
void softmax_direct_gpu(const float* x, float* y, int64_t rows, int64_t classes, void* stream);

}  // namespace lenslet
