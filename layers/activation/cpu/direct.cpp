// Activations on the CPU: y[i] = f(x[i]; a, b), x and y [count], with a loop of its own for every function and
// instruction set; activation_functions.h has each f.
#include <array>
#include <utility>

#include "framework/base/parallel.h"
#include "framework/base/simd.h"
#include "layers/activation/activation_backend.h"
#include "layers/activation/activation_functions.h"

namespace lenslet {
namespace {

// Smallest number of values per thread: handing over less costs more than computing it.
constexpr int64_t kGrainValues = 16 * 1024;

using Kernel = void (*)(const ActivationProblem&, const float*, float*, int64_t);

template <Activation kFunction>
LENSLET_ALWAYS_INLINE void each(const ActivationProblem& problem, const float* x, float* y, int64_t count) {
  const float a = problem.a, b = problem.b;
  for (int64_t i = 0; i < count; ++i) y[i] = activate<kFunction>(x[i], a, b);
}

template <Activation kFunction>
void each_baseline(const ActivationProblem& problem, const float* x, float* y, int64_t count) {
  each<kFunction>(problem, x, y, count);
}
template <Activation kFunction>
LENSLET_TARGET_AVX2 void each_avx2(const ActivationProblem& problem, const float* x, float* y,
                                   int64_t count) {
  each<kFunction>(problem, x, y, count);
}
template <Activation kFunction>
LENSLET_TARGET_AVX512 void each_avx512(const ActivationProblem& problem, const float* x, float* y,
                                       int64_t count) {
  each<kFunction>(problem, x, y, count);
}

template <int... kIndex>
Kernel kernel_of(Activation function, std::integer_sequence<int, kIndex...> /*all*/) {
  static constexpr std::array<Kernel, kActivations> kKernels[] = {
      {&each_baseline<static_cast<Activation>(kIndex)>...},
      {&each_avx2<static_cast<Activation>(kIndex)>...},
      {&each_avx512<static_cast<Activation>(kIndex)>...}};
  return kKernels[static_cast<int>(simd_level())][static_cast<size_t>(function)];
}

void run(const ActivationProblem& problem, const float* x, float* y, Stream& /*stream*/) {
  const Kernel kernel = kernel_of(problem.function, std::make_integer_sequence<int, kActivations>());
  parallel_for(problem.count, kGrainValues,
               [&](int64_t begin, int64_t end) { kernel(problem, x + begin, y + begin, end - begin); });
}

}  // namespace

LENSLET_BACKEND(activation, cpu_direct, ActivationBackend{&run})

}  // namespace lenslet
