// Bias and rectifier on the output of a library's matrix product.
#pragma once

#include <cstdint>

#include "framework/device/launch_resources.h"
#include "framework/device/stream.h"
#include "layers/rectifier.h"

namespace lenslet {

/// y[o, c, i] = after(y[o, c, i] + bias[c]) in place; y [outer, channels, inner]. bias may be null; with neither bias
/// nor rectifier nothing is enqueued. Throws DeviceError.
void bias_rectifier_gpu(float* y, const float* bias, Rectifier after, int64_t outer, int64_t channels,
                        int64_t inner, const Stream& stream);

/// The resources of that launch for y aligned to 16 bytes. Throws DeviceError.
LaunchResources bias_rectifier_launch(int64_t outer, int64_t channels, int64_t inner);

}  // namespace lenslet
