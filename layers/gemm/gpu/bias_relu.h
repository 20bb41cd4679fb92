// Bias and ReLU on the output of a library's matrix product.
#pragma once

#include <cstdint>

#include "framework/device/launch_resources.h"

namespace lenslet {

/// y[o, c, i] = f(y[o, c, i] + bias[c]) in place, f = max(., 0) with `relu`, else nothing; y [outer,
/// channels, inner]. bias may be null; with neither bias nor ReLU nothing is enqueued. `stream` is a
/// cudaStream_t. Throws DeviceError.
void bias_relu_gpu(float* y, const float* bias, bool relu, int64_t outer, int64_t channels, int64_t inner,
                   void* stream);

/// The resources of that launch for y aligned to 16 bytes. Throws DeviceError.
LaunchResources bias_relu_launch(int64_t outer, int64_t channels, int64_t inner);

}  // namespace lenslet
