// Pairwise functions on the CPU: y[i] = after(f(a[i], b[i])), f of pairwise_functions.h, `after` a rectifier. The
// shapes of a and b are broadcast to that of y. The innermost dimension is a loop that vectorises, one for each way in
// which an operand is broadcast in it; the others are counted.
#include <algorithm>
#include <array>
#include <utility>

#include "framework/base/parallel.h"
#include "framework/base/simd.h"
#include "layers/pairwise/pairwise_backend.h"
#include "layers/pairwise/pairwise_functions.h"

namespace lenslet {
namespace {

// Smallest number of values per thread: handing over less costs more than computing it.
constexpr int64_t kGrainValues = 32 * 1024;

/// Neighbouring outputs and the strides of what they read.
struct Row {
  const float* a;
  const float* b;
  float* y;
  int64_t a_stride, b_stride, count;
  Rectifier after;
};

using Kernel = void (*)(const Row&);

template <Pairwise kFunction>
LENSLET_ALWAYS_INLINE void each(const Row& row) {
  const float* a = row.a;
  const float* b = row.b;
  float* y = row.y;
  const Rectifier after = row.after;
  if (row.a_stride == 1 && row.b_stride == 1) {
    for (int64_t i = 0; i < row.count; ++i) y[i] = after.of(combine<kFunction>(a[i], b[i]));
  } else if (row.a_stride == 1 && row.b_stride == 0) {
    const float one = b[0];
    for (int64_t i = 0; i < row.count; ++i) y[i] = after.of(combine<kFunction>(a[i], one));
  } else {
    for (int64_t i = 0; i < row.count; ++i)
      y[i] = after.of(combine<kFunction>(a[i * row.a_stride], b[i * row.b_stride]));
  }
}

template <Pairwise kFunction>
void each_baseline(const Row& row) {
  each<kFunction>(row);
}
template <Pairwise kFunction>
LENSLET_TARGET_AVX2 void each_avx2(const Row& row) {
  each<kFunction>(row);
}
template <Pairwise kFunction>
LENSLET_TARGET_AVX512 void each_avx512(const Row& row) {
  each<kFunction>(row);
}

template <int... kIndex>
Kernel kernel_of(Pairwise function, std::integer_sequence<int, kIndex...> /*all*/) {
  static constexpr std::array<Kernel, kPairwiseFunctions> kKernels[] = {
      {&each_baseline<static_cast<Pairwise>(kIndex)>...},
      {&each_avx2<static_cast<Pairwise>(kIndex)>...},
      {&each_avx512<static_cast<Pairwise>(kIndex)>...}};
  return kKernels[static_cast<int>(simd_level())][static_cast<size_t>(function)];
}

void run(const PairwiseProblem& problem, const float* a, const float* b, float* y, Stream& /*stream*/) {
  const Kernel kernel = kernel_of(problem.function, std::make_integer_sequence<int, kPairwiseFunctions>());
  const StridedPair& places = problem.places;
  const int last = places.rank - 1;
  const int64_t row_values = places.rank == 0 ? 1 : places.dims[last];
  // Threads share the values, so that there is enough work if there is one row only.
  parallel_for(places.count(), kGrainValues, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t count = std::min(end - at, row_values - at % row_values);
      int64_t in_a = 0, in_b = 0;
      places.place(at, in_a, in_b);
      kernel({a + in_a, b + in_b, y + at, places.rank == 0 ? 0 : places.first[last],
              places.rank == 0 ? 0 : places.second[last], count, problem.after});
      at += count;
    }
  });
}

}  // namespace

LENSLET_BACKEND(pairwise, cpu_direct, PairwiseBackend{&run})

}  // namespace lenslet
