// ReLU on the CPU: y[i] = max(x[i], 0).
#include "framework/base/parallel.h"
#include "framework/base/simd.h"
#include "framework/tensor/keep_nan.h"
#include "layers/relu/relu_backend.h"

namespace lenslet {
namespace {

// Smallest number of values per thread: in its cache a core takes 6 us for as many, and waking another takes 10 us.
constexpr int64_t kGrainValues = 64 * 1024;

LENSLET_SIMD_CLONES void relu_range(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = relu(x[i]);
}

void run(const ReluProblem& problem, const float* x, float* y, Stream& /*stream*/) {
  parallel_for(problem.count, kGrainValues,
               [&](int64_t begin, int64_t end) { relu_range(x + begin, y + begin, end - begin); });
}

}  // namespace

LENSLET_BACKEND(relu, cpu_direct, ReluBackend{&run})

}  // namespace lenslet
