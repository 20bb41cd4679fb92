// Reshape on the CPU: y[i] = x[i].
#include "framework/tensor/tensor.h"
#include "layers/reshape/reshape_backend.h"

namespace lenslet {
namespace {

void run(const ReshapeProblem& problem, const float* x, float* y, Stream& stream) {
  copy_bytes(y, Device::cpu(), x, Device::cpu(), static_cast<size_t>(problem.count) * sizeof(float), stream);
}

}  // namespace

LENSLET_BACKEND(reshape, cpu_copy, ReshapeBackend{&run})

}  // namespace lenslet
