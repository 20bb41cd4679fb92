// Softmax on the CPU, row by row: maximum, exponentials, sum, division. x and y [rows, classes].
//
// The exponential is written out, because a call of expf prevents vectorising: x = n ln 2 + r
// with |r| <= ln 2 / 2 in two parts (Cody and Waite 1980), e^r by the Taylor polynomial of degree 7
// (remainder below 2^-27 relative), times 2^n by its exponent bits. Total error below 2 ulp; results
// below 2^-126 are flushed to 0.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "framework/base/parallel.h"
#include "framework/base/simd.h"
#include "framework/tensor/keep_nan.h"
#include "layers/softmax/softmax_backend.h"

namespace lenslet {
namespace {

// Smallest number of values per thread: handing over less costs more than computing it.
constexpr int64_t kGrainValues = 8 * 1024;
// Number of independent partial sums and maxima: one vector of the widest instruction set.
constexpr int kLanes = 16;

// e^x for x <= 0; NaN for NaN.
inline __attribute__((always_inline)) float exp_nonpositive(float x) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;    // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  constexpr float kSmallest = -87.33654f;  // ln 2^-126
  const float limited = x < kSmallest ? kSmallest : x;  // keeps NaN
  const float biased = limited * kLog2e + kRound;
  const float n = biased - kRound;
  const float r = (limited - n * kLn2High) - n * kLn2Low;
  float p = 1.98412698e-4f;  // 1/7!, 1/6!, …
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  uint32_t bits, bias;
  std::memcpy(&bits, &biased, sizeof bits);
  std::memcpy(&bias, &kRound, sizeof bias);
  // 2^n, or 0 below the smallest: arithmetic on bits instead of a branch, so that loops vectorise.
  bits = ((bits - bias + 127u) << 23) & (0u - static_cast<uint32_t>(x >= kSmallest));
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

LENSLET_SIMD_CLONES void softmax_row(const float* x, float* y, int64_t classes) {
  float most = -std::numeric_limits<float>::infinity();
  const int64_t whole = classes / kLanes * kLanes;
  if (whole > 0) {
    float lanes[kLanes];
    std::memcpy(lanes, x, sizeof lanes);
    for (int64_t i = kLanes; i < whole; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], x[i + l]);
    }
    for (float lane : lanes) most = larger(most, lane);
  }
  for (int64_t i = whole; i < classes; ++i) most = larger(most, x[i]);

  for (int64_t i = 0; i < classes; ++i) y[i] = exp_nonpositive(x[i] - most);

  float lanes[kLanes] = {};
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += y[i + l];
  }
  float sum = 0;
  for (float lane : lanes) sum += lane;
  for (int64_t i = whole; i < classes; ++i) sum += y[i];

  for (int64_t i = 0; i < classes; ++i) y[i] /= sum;
}

void run(const float* x, float* y, int64_t rows, int64_t classes, Stream& /*stream*/) {
  const int64_t grain = std::max<int64_t>(1, kGrainValues / std::max<int64_t>(classes, 1));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) softmax_row(x + row * classes, y + row * classes, classes);
  });
}

}  // namespace

LENSLET_BACKEND(softmax, cpu_direct, SoftmaxBackend{&run})

}  // namespace lenslet
