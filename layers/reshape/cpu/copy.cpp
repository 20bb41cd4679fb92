// Reshape on the CPU: y[i] = x[i].
#include "framework/tensor/tensor.h"
#include "layers/reshape/reshape_backend.h"

namespace lenslet {
namespace {

void run(const float* x, float* y, int64_t count, Stream& stream) {
  copy_bytes(y, Device::cpu(), x, Device::cpu(), static_cast<size_t>(count) * sizeof(float), stream);
}

}  // namespace

LENSLET_BACKEND(reshape, cpu_copy, ReshapeBackend{&run})

}  // namespace lenslet
