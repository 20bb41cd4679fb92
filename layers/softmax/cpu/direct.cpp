// Softmax and its logarithm on the CPU, row by row, x and y [outer, classes, inner], along the classes c:
//
//   m = max over c of x[c],  s = sum over c of exp(x[c] - m)
//   y[c] = exp(x[c] - m) / s, or with `logarithms` y[c] = x[c] - m - log(s)
//
// After ONNX's operators Softmax and LogSoftmax.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/base/simd.h"
#include "framework/tensor/keep_nan.h"
#include "layers/softmax/softmax_backend.h"
#include "layers/vector_exp.h"

namespace lenslet {
namespace {

// Smallest number of values per thread: one core takes 59 us for as many in rows of 10 classes, 43 us in rows of 1,000,
// and waking another takes 10 us.
constexpr int64_t kGrainValues = 8 * 1024;
// Number of independent partial sums and maxima: one vector of the widest instruction set.
constexpr int kLanes = 16;
// Columns that are computed at once where a row's values are apart: their maxima and sums stay in the L1 cache.
constexpr int64_t kColumns = 256;

LENSLET_SIMD_CLONES void softmax_row(const float* x, float* y, int64_t classes, bool logarithms) {
  float max_value = -std::numeric_limits<float>::infinity();
  const int64_t whole = classes / kLanes * kLanes;
  if (whole > 0) {
    float lanes[kLanes];
    std::memcpy(lanes, x, sizeof lanes);
    for (int64_t i = kLanes; i < whole; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], x[i + l]);
    }
    for (float lane : lanes) max_value = larger(max_value, lane);
  }
  for (int64_t i = whole; i < classes; ++i) max_value = larger(max_value, x[i]);

  for (int64_t i = 0; i < classes; ++i) y[i] = exp_nonpositive(x[i] - max_value);

  float lanes[kLanes] = {};
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += y[i + l];
  }
  float sum = 0;
  for (float lane : lanes) sum += lane;
  for (int64_t i = whole; i < classes; ++i) sum += y[i];

  if (logarithms) {
    const float log_sum = std::log(sum);
    for (int64_t i = 0; i < classes; ++i) y[i] = x[i] - max_value - log_sum;
  } else {
    for (int64_t i = 0; i < classes; ++i) y[i] /= sum;
  }
}

// The rows of columns [0, count), `inner` apart, at once: every loop runs over neighbouring columns.
LENSLET_SIMD_CLONES void softmax_columns(const float* x, float* y, const SoftmaxProblem& problem,
                                         int64_t count) {
  float max_values[kColumns], sum[kColumns] = {};
  std::fill(max_values, max_values + kColumns, -std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < problem.classes; ++i) {
    for (int64_t j = 0; j < count; ++j) max_values[j] = larger(max_values[j], x[i * problem.inner + j]);
  }
  for (int64_t i = 0; i < problem.classes; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      const float e = exp_nonpositive(x[i * problem.inner + j] - max_values[j]);
      y[i * problem.inner + j] = e;
      sum[j] += e;
    }
  }
  if (problem.logarithms) {
    for (int64_t j = 0; j < count; ++j) sum[j] = std::log(sum[j]);
  }
  for (int64_t i = 0; i < problem.classes; ++i) {
    float* const row = y + i * problem.inner;
    const float* const in = x + i * problem.inner;
    if (problem.logarithms) {
      for (int64_t j = 0; j < count; ++j) row[j] = in[j] - max_values[j] - sum[j];
    } else {
      for (int64_t j = 0; j < count; ++j) row[j] /= sum[j];
    }
  }
}

void run(const SoftmaxProblem& problem, const float* x, float* y, Stream& /*stream*/) {
  const int64_t row = problem.classes * problem.inner;
  if (problem.inner == 1) {
    const int64_t grain = std::max<int64_t>(1, kGrainValues / std::max<int64_t>(row, 1));
    parallel_for(problem.outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) softmax_row(x + i * row, y + i * row, row, problem.logarithms);
    });
    return;
  }
  const int64_t parts = ceil_div(problem.inner, kColumns);
  const int64_t grain = std::max<int64_t>(1, kGrainValues / (problem.classes * kColumns + 1));
  parallel_for(problem.outer * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t first = job % parts * kColumns, at = job / parts * row + first;
      softmax_columns(x + at, y + at, problem, std::min(kColumns, problem.inner - first));
    }
  });
}

}  // namespace

LENSLET_BACKEND(softmax, cpu_direct, SoftmaxBackend{&run})

}  // namespace lenslet
