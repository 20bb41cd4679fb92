// Comparisons that return NaN for NaN, on the host and on the GPU, so that faulty values stay visible. Internal.
#pragma once

#include "framework/base/host_device.h"

namespace lenslet {

/// max(value, 0). `value > 0 ? value : 0` and fmaxf would return 0 for NaN.
LENSLET_HOST_DEVICE inline float relu(float value) { return value < 0.0f ? 0.0f : value; }
/// relu(value) if `wanted`, else value.
LENSLET_HOST_DEVICE inline float relu_if(bool wanted, float value) {
  return wanted && value < 0.0f ? 0.0f : value;
}
/// The larger value; NaN if either is NaN. Branch-free, so that loops vectorise.
LENSLET_HOST_DEVICE inline float larger(float a, float b) {
  return static_cast<int>(b > a) | static_cast<int>(b != b) ? b : a;
}

}  // namespace lenslet
