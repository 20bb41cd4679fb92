// Comparisons that keep NaN, on the host and on the GPU: a wrong number must not look like a right one. Internal.
#pragma once

#ifdef __CUDACC__
#define LENSLET_HOST_DEVICE __host__ __device__
#else
#define LENSLET_HOST_DEVICE
#endif

namespace lenslet {

/// max(value, 0). `value > 0 ? value : 0` and fmaxf would turn NaN into 0.
LENSLET_HOST_DEVICE inline float relu(float value) { return value < 0.0f ? 0.0f : value; }
/// The same where `wanted`.
LENSLET_HOST_DEVICE inline float relu_if(bool wanted, float value) {
  return wanted && value < 0.0f ? 0.0f : value;
}
/// The larger one; NaN where either is one. Without branches, so that loops vectorise.
LENSLET_HOST_DEVICE inline float larger(float a, float b) {
  return static_cast<int>(b > a) | static_cast<int>(b != b) ? b : a;
}

}  // namespace lenslet
