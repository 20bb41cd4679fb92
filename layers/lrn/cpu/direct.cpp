// Local response normalisation on the CPU, sums of squares of neighbouring positions at once:
//   y[n, c, i] = x[n, c, i] / (bias + scale * sum over k of x[n, k, i]^2)^beta, k = c - before to c + after within C
//   x, y [samples, channels, inner]
// A. Krizhevsky, I. Sutskever and G. Hinton, "ImageNet classification with deep convolutional neural networks", NIPS
// 2012, section 3.3.
#include <algorithm>
#include <cmath>

#include "framework/base/parallel.h"
#include "framework/base/simd.h"
#include "layers/lrn/lrn_backend.h"

namespace lenslet {
namespace {

// Smallest number of values per thread: one core takes 34 us for as many, mostly in pow(), and waking another takes
// 10 us.
constexpr int64_t kGrainValues = 4 * 1024;
// Positions that are computed at once: their sums stay in the L1 cache.
constexpr int64_t kPositions = 512;

LENSLET_SIMD_CLONES void add_squares(const float* x, float* sums, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += x[i] * x[i];
}

// Channel c of one sample at `count` positions; x and y point to the first of them in channel 0.
void channel(const LrnProblem& problem, const float* x, float* y, int64_t c, int64_t count) {
  float sums[kPositions];
  std::fill(sums, sums + count, 0.0f);
  const int64_t first = std::max<int64_t>(c - problem.before, 0);
  const int64_t end = std::min(c + problem.after + 1, problem.channels);
  for (int64_t k = first; k < end; ++k) add_squares(x + k * problem.inner, sums, count);
  for (int64_t i = 0; i < count; ++i) {
    const float power = std::pow(problem.bias + problem.scale * sums[i], problem.beta);
    y[c * problem.inner + i] = x[c * problem.inner + i] / power;
  }
}

void run(const LrnProblem& problem, const float* x, float* y, Stream& /*stream*/) {
  const int64_t row = problem.channels * problem.inner;
  const int64_t grain = std::max<int64_t>(1, kGrainValues / problem.inner);
  parallel_for(problem.samples * problem.channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t sample = job / problem.channels * row;
      for (int64_t i = 0; i < problem.inner; i += kPositions)
        channel(problem, x + sample + i, y + sample + i, job % problem.channels,
                std::min(kPositions, problem.inner - i));
    }
  });
}

}  // namespace

LENSLET_BACKEND(lrn, cpu_direct, LrnBackend{&run})

}  // namespace lenslet
