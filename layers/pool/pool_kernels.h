// The kernels of the pooling layers, by device. Internal to this folder.
#pragma once

#include <cstdint>

#include "layers/pool/pool_layer.h"

namespace lenslet {

enum class PoolKind { kMax, kAverage, kAverageInside };

/// x [planes, h, w] -> y [planes, p, q], planes = N * C.
struct Pool2dProblem {
  PoolKind kind = PoolKind::kMax;
  Pool2dWindow window;
  int64_t planes = 0;
  int64_t h = 0, w = 0;
  int64_t p = 0, q = 0;
};

void pool2d_direct_cpu(const Pool2dProblem& problem, const float* x, float* y);
/// Enqueues on `stream`, a cudaStream_t. Throws DeviceError.
void pool2d_direct_gpu(const Pool2dProblem& problem, const float* x, float* y, void* stream);

}  // namespace lenslet
