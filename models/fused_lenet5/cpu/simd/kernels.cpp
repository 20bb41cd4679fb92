// LeNet-5 on one thread, an image's convolutions at a time, twelve images' fully connected layers at a time.
//
//   x [28, 28] -> max(0, conv 6@5x5 + b) -> largest of 2x2 -> [6, 12, 12] -> max(0, conv 16@5x5 + b) -> largest of 2x2
//     -> [4 * 4, 16] -> 120 -> 84 -> 10, ReLU between
//
// All intermediate values need 36 KB of stack, of which an image's convolutions use 13. The convolutions are direct
// with a register tile of outputs, as in Zhang, Franchetti and Low, "High Performance Zero-Memory Overhead Direct
// Convolutions" (2018). Lanes are pooled positions in conv1, which has one input channel, and output channels in conv2
// and the fully connected layers. The register tile of these is that of Goto and van de Geijn (2008). Departure: the
// four sums of a pooling window are in one lane of four registers, so that pooling needs no shuffles. For this the
// image is first split into six sets of every second column.
#include "models/fused_lenet5/cpu/simd/kernels.h"

#include <algorithm>

#include "framework/base/simd.h"
#include "framework/tensor/float_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lenslet {
namespace {

#define LENSLET_ALWAYS_INLINE inline __attribute__((always_inline))
// The sums of a tile stay in registers only if every loop over it is unrolled. Under a sanitizer, which checks each of
// the thousands of accesses, that would take minutes to compile.
#if defined(__SANITIZE_ADDRESS__)
#define LENSLET_UNROLL
#else
#define LENSLET_UNROLL _Pragma("GCC unroll 16")
#endif

constexpr int kSide = 28, kMaps1 = 6, kPooled1 = 12, kMaps2 = 16, kPooled2 = 4, kClasses = 10;
constexpr int kFeatures = kMaps2 * kPooled2 * kPooled2;
// Outputs of the fully connected layers, rounded up to whole panels of any width.
constexpr int kFc1Step = 128, kFc2Step = 96, kFc3Step = 32;

struct Scratch {
  // Column set c: pixels (y, c + 2 j), j < 12. Even and odd rows are separate, so that neighbouring pooled positions of
  // all rows are neighbours in memory. A row may be written with 16 lanes; the next row overwrites the last 4.
  alignas(64) float columns[6][2][kSide / 2 * kPooled1 + 4];
  alignas(64) float pool1[kMaps1][kPooled1 * kPooled1];
  alignas(64) float pool2[SimdKernels::kGroup][kFeatures];  // [4 * 4][16]
  alignas(64) float fc1[SimdKernels::kGroup][kFc1Step];
  alignas(64) float fc2[SimdKernels::kGroup][kFc2Step];
  alignas(64) float fc3[SimdKernels::kGroup][kFc3Step];

  float* row(int set, int y) { return columns[set][y % 2] + y / 2 * kPooled1; }
};

// Plain C++: four lanes, which every 64-bit processor has.
namespace baseline {

constexpr int kLanes = 4, kSums = 12;
using Vector = FloatVector<kLanes>::type;
using Unaligned = FloatVector<kLanes>::unaligned;

template <typename Pixel>
LENSLET_ALWAYS_INLINE void split_columns(const Pixel* image, Scratch& scratch) {
  for (int y = 0; y < kSide; ++y) {
    for (int set = 0; set < 6; ++set) {
      for (int j = 0; j < kPooled1; ++j)
        scratch.row(set, y)[j] = static_cast<float>(image[y * kSide + set + 2 * j]);
    }
  }
}
LENSLET_ALWAYS_INLINE Vector larger(Vector a, Vector b) { return ((b > a) | (b != b)) ? b : a; }
LENSLET_ALWAYS_INLINE Vector window_maximum(Vector a, Vector b, Vector c, Vector d) {
  return larger(larger(a, b), larger(c, d));
}
LENSLET_ALWAYS_INLINE Vector rectified(Vector a) { return a < 0.0f ? Vector{} : a; }

#include "models/fused_lenet5/cpu/simd/stages.inc"

}  // namespace baseline

#if defined(__x86_64__)

// Code from BEGIN to END is compiled for that instruction set.
#if defined(__clang__)
#define LENSLET_BEGIN_AVX2 \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to = function)")
#define LENSLET_BEGIN_AVX512 \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f\"))), apply_to = function)")
#define LENSLET_END_TARGET _Pragma("clang attribute pop")
#else
#define LENSLET_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define LENSLET_BEGIN_AVX512 _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f\")")
#define LENSLET_END_TARGET _Pragma("GCC pop_options")
#endif

LENSLET_BEGIN_AVX2
namespace avx2 {

constexpr int kLanes = 8, kSums = 12;
using Vector = FloatVector<kLanes>::type;
using Unaligned = FloatVector<kLanes>::unaligned;

LENSLET_ALWAYS_INLINE __m256 pixels(const float* from) { return _mm256_loadu_ps(from); }
LENSLET_ALWAYS_INLINE __m256 pixels(const uint8_t* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

/// 12 of 24 pixels: PICK 0x88 takes every second one from the first on, 0xdd from the second on.
template <int PICK>
LENSLET_ALWAYS_INLINE void store_every_second(__m256 a, __m256 b, __m256 c, float* to) {
  // Each half has a pair of a's, then one of b's.
  const __m256d halves = _mm256_castps_pd(_mm256_shuffle_ps(a, b, PICK));
  _mm256_storeu_ps(to, _mm256_castpd_ps(_mm256_permute4x64_pd(halves, 0xd8)));
  _mm_storeu_ps(to + 8, _mm_shuffle_ps(_mm256_castps256_ps128(c), _mm256_extractf128_ps(c, 1), PICK));
}
template <typename Pixel>
LENSLET_ALWAYS_INLINE void split_columns(const Pixel* image, Scratch& scratch) {
  for (int y = 0; y < kSide; ++y) {
    for (int set = 0; set < 6; set += 2) {
      const Pixel* const row = image + y * kSide + set;
      const __m256 a = pixels(row), b = pixels(row + 8), c = pixels(row + 16);
      store_every_second<0x88>(a, b, c, scratch.row(set, y));
      store_every_second<0xdd>(a, b, c, scratch.row(set + 1, y));
    }
  }
}
// max(a, b) returns b if one is NaN, which may lose a NaN. The mask of the comparison, all ones, is itself a NaN.
LENSLET_ALWAYS_INLINE __m256 window_maximum(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 nan = _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q));
  return _mm256_or_ps(_mm256_max_ps(_mm256_max_ps(a, b), _mm256_max_ps(c, d)), nan);
}
LENSLET_ALWAYS_INLINE __m256 rectified(__m256 a) { return _mm256_max_ps(_mm256_setzero_ps(), a); }

#include "models/fused_lenet5/cpu/simd/stages.inc"

}  // namespace avx2
LENSLET_END_TARGET

LENSLET_BEGIN_AVX512
namespace avx512 {

constexpr int kLanes = 16, kSums = 24;
using Vector = FloatVector<kLanes>::type;
using Unaligned = FloatVector<kLanes>::unaligned;
// GCC 12 warns that the result of the intrinsic without a mask may be uninitialised. With all lanes selected it is the
// same instruction.
constexpr __mmask16 kAll = 0xffff;

LENSLET_ALWAYS_INLINE __m512 pixels(const float* from) { return _mm512_loadu_ps(from); }
LENSLET_ALWAYS_INLINE __m512 pixels(const uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm512_maskz_cvtepi32_ps(kAll, _mm512_maskz_cvtepu8_epi32(kAll, bytes));
}

/// For each column set the lanes of two vectors that hold pixels 0..15 and 12..27 of a row; the last four are unused.
struct ColumnPicks {
  alignas(64) int lane[6][16] = {};
  constexpr ColumnPicks() {
    for (int set = 0; set < 6; ++set) {
      for (int j = 0; j < kPooled1; ++j) {
        const int column = set + 2 * j;
        lane[set][j] = column < 16 ? column : 16 + column - 12;
      }
    }
  }
};
constexpr ColumnPicks kColumnPicks;

template <typename Pixel>
LENSLET_ALWAYS_INLINE void split_columns(const Pixel* image, Scratch& scratch) {
  for (int y = 0; y < kSide; ++y) {
    const __m512 left = pixels(image + y * kSide), right = pixels(image + y * kSide + 12);
    LENSLET_UNROLL
    for (int set = 0; set < 6; ++set) {
      const __m512i pick = _mm512_load_si512(kColumnPicks.lane[set]);
      _mm512_storeu_ps(scratch.row(set, y), _mm512_permutex2var_ps(left, pick, right));
    }
  }
}
LENSLET_ALWAYS_INLINE __m512 larger(__m512 a, __m512 b) { return _mm512_maskz_max_ps(kAll, a, b); }
// As with AVX2.
LENSLET_ALWAYS_INLINE __m512 window_maximum(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __mmask16 nan =
      _kor_mask16(_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q));
  const __m512 largest = larger(larger(a, b), larger(c, d));
  return _mm512_castsi512_ps(_mm512_mask_set1_epi32(_mm512_castps_si512(largest), nan, -1));
}
LENSLET_ALWAYS_INLINE __m512 rectified(__m512 a) { return larger(_mm512_setzero_ps(), a); }

#include "models/fused_lenet5/cpu/simd/stages.inc"

}  // namespace avx512
LENSLET_END_TARGET

#endif  // __x86_64__

std::vector<const SimdKernels*> detect() {
  std::vector<const SimdKernels*> kernels;
#if defined(__x86_64__)
  static const SimdKernels kAvx2{"AVX2", avx2::kLanes, avx2::run<float>, avx2::run<uint8_t>};
  static const SimdKernels kAvx512{"AVX-512", avx512::kLanes, avx512::run<float>, avx512::run<uint8_t>};
  if (simd_level() >= SimdLevel::kAvx512) kernels.push_back(&kAvx512);
  if (simd_level() >= SimdLevel::kAvx2) kernels.push_back(&kAvx2);
#endif
  static const SimdKernels kBaseline{"baseline", baseline::kLanes, baseline::run<float>,
                                     baseline::run<uint8_t>};
  kernels.push_back(&kBaseline);
  return kernels;
}

}  // namespace

const std::vector<const SimdKernels*>& all_simd_kernels() {
  static const std::vector<const SimdKernels*> kernels = detect();
  return kernels;
}

}  // namespace lenslet
