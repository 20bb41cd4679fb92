#include "apps/common/ceilings/peak_rates.h"

#include "framework/base/simd.h"

namespace lenslet {
namespace {

template <typename Element, int W>
struct VectorOf {
  typedef Element type __attribute__((vector_size(W * sizeof(Element)), may_alias));
};

/// N independent sums of W lanes: N must cover the latency of all units together.
template <int W, int N>
LENSLET_ALWAYS_INLINE float multiply_add(int64_t rounds, float factor, float addend) {
  typename VectorOf<float, W>::type sum[N];
#pragma GCC unroll 32
  for (int i = 0; i < N; ++i) sum[i] = typename VectorOf<float, W>::type{} + static_cast<float>(i);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < N; ++i) sum[i] = sum[i] * factor + addend;
  }
  float total = 0;
#pragma GCC unroll 32
  for (int i = 0; i < N; ++i) {
    for (int lane = 0; lane < W; ++lane) total += sum[i][lane];
  }
  return total;
}

template <int W>
LENSLET_ALWAYS_INLINE uint32_t add_words(const uint32_t* data, int64_t count) {
  using Vector = typename VectorOf<uint32_t, W>::type;
  constexpr int kSums = 8;  // independent: more than the latency of an addition times the loads of a cycle
  Vector sum[kSums] = {};
  for (int64_t i = 0; i < count; i += kSums * W) {
#pragma GCC unroll 8
    for (int j = 0; j < kSums; ++j) sum[j] += *reinterpret_cast<const Vector*>(data + i + j * W);
  }
  uint32_t total = 0;
  for (int j = 0; j < kSums; ++j) {
    for (int lane = 0; lane < W; ++lane) total += sum[j][lane];
  }
  return total;
}

#if defined(__aarch64__)
constexpr int kBaselineSums = 24;
constexpr const char* kBaselineName = "NEON";
#elif defined(__x86_64__)
constexpr int kBaselineSums = 12;
constexpr const char* kBaselineName = "SSE2";
#else
constexpr int kBaselineSums = 12;
constexpr const char* kBaselineName = "plain C++";
#endif

float multiply_add_baseline(int64_t rounds, float factor, float addend) {
  return multiply_add<4, kBaselineSums>(rounds, factor, addend);
}
uint32_t add_words_baseline(const uint32_t* data, int64_t count) { return add_words<4>(data, count); }

#if defined(__x86_64__)
LENSLET_TARGET_AVX2 float multiply_add_avx2(int64_t rounds, float factor, float addend) {
  return multiply_add<8, 12>(rounds, factor, addend);
}
LENSLET_TARGET_AVX512 float multiply_add_avx512(int64_t rounds, float factor, float addend) {
  return multiply_add<16, 24>(rounds, factor, addend);
}
LENSLET_TARGET_AVX2 uint32_t add_words_avx2(const uint32_t* data, int64_t count) {
  return add_words<8>(data, count);
}
LENSLET_TARGET_AVX512 uint32_t add_words_avx512(const uint32_t* data, int64_t count) {
  return add_words<16>(data, count);
}
#endif

}  // namespace

std::vector<FmaLoop> fma_loops() {
  std::vector<FmaLoop> loops;
#if defined(__x86_64__)
  if (simd_level() >= SimdLevel::kAvx512) loops.push_back({"AVX-512", 2.0 * 16 * 24, multiply_add_avx512});
  if (simd_level() >= SimdLevel::kAvx2) loops.push_back({"AVX2", 2.0 * 8 * 12, multiply_add_avx2});
#endif
  loops.push_back({kBaselineName, 2.0 * 4 * kBaselineSums, multiply_add_baseline});
  return loops;
}

uint32_t read_words(const uint32_t* data, int64_t count) {
#if defined(__x86_64__)
  if (simd_level() >= SimdLevel::kAvx512) return add_words_avx512(data, count);
  if (simd_level() >= SimdLevel::kAvx2) return add_words_avx2(data, count);
#endif
  return add_words_baseline(data, count);
}

}  // namespace lenslet
