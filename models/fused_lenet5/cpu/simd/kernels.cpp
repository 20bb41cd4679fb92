// LeNet-5 on one thread, an image's convolutions at a time, twelve images' fully connected layers at a time.
//
//   x [28, 28] -> max(0, conv 6@5x5 + b) -> largest of 2x2 -> [6, 12, 12] -> max(0, conv 16@5x5 + b) -> largest of 2x2
//     -> [4 * 4, 16] -> 120 -> 84 -> 10, ReLU between
//
// The convolutions are Winograd's F(4, 5) along the rows (winograd.h) and direct down the columns:
//   z[k, y, x0 + o] = sum over points t of A_to sum over c, r of U[k, c, r, t] V[c, y + r, x0, t]
// which needs 8 multiplications instead of 20 for 4 outputs. The sums of one point are in a register tile, as in Zhang,
// Franchetti and Low, "High Performance Zero-Memory Overhead Direct Convolutions" (2018). Lanes are pairs of pooled
// positions in conv1, which has one input channel, and output channels in conv2 and the fully connected layers. The
// register tile of these is that of Goto and van de Geijn (2008). Departure: the sums of a pooling window are in one
// lane of several registers, so that pooling needs no shuffles. For this the image is first split into eight sets of
// every fourth column, and conv1's maps into even and odd columns.
#include "models/fused_lenet5/cpu/simd/kernels.h"

#include <algorithm>

#include "framework/base/simd.h"
#include "framework/tensor/float_vector.h"
#include "models/fused_lenet5/winograd.h"
#include "models/lenet5_sizes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lenslet {
namespace {

// The sums of a tile stay in registers only if every loop over it is unrolled. Under a sanitizer, which checks each of
// the thousands of accesses, that would take minutes to compile.
#if defined(__SANITIZE_ADDRESS__)
#define LENSLET_UNROLL
#else
#define LENSLET_UNROLL _Pragma("GCC unroll 16")
#endif

constexpr int kSide = kLenet5Side, kMaps1 = 6, kPooled1 = 12, kMaps2 = 16, kPooled2 = 4,
              kClasses = kLenet5Classes;
constexpr int kPoints = fused_lenet5::WinogradF45::kPoints;
// A tile of four outputs along a row of conv1 is a pair of pooled positions: six in a row, 72 in all. Of the image's
// rows every second one belongs to a parity, so that neighbouring places of all rows are neighbours in memory.
constexpr int kPairs = kPooled1 / 2, kPlaces1 = kPooled1 * kPairs, kRowPlaces = kSide / 2 * kPairs;
constexpr int kTiles2 = 2, kRows2 = 2 * kPooled2;  // of conv2's outputs: tiles of four along a row, rows
// Lengths with the lanes after the last place that a vector of 16 reads or writes, in whole lines of the cache.
constexpr int kRowLine = 96, kPoolLine = 96, kInput2Line = 80;
constexpr int kFeatures = kMaps2 * kPooled2 * kPooled2;
// Outputs of the fully connected layers, rounded up to whole panels of any width.
constexpr int kFc1Step = 128, kFc2Step = 96, kFc3Step = 32;

struct Scratch {
  // Column set c: pixels (y, c + 4 j), j < 6. A row may be written with 16 lanes; the next row overwrites the last 10.
  alignas(64) float columns[kPoints][2][kRowLine];
  alignas(64) float input1[kPoints][2][kRowLine];             // V: B^T of eight neighbouring columns
  alignas(64) float pool1[kMaps1][2][kPoolLine];              // even columns, odd columns
  alignas(64) float input2[kPoints][kMaps1][kInput2Line];     // V of the eight columns from an even one on
  alignas(64) float sums2[kPoints][kRows2][kTiles2][kMaps2];  // the products of a point, summed
  alignas(64) float pool2[SimdKernels::kGroup][kFeatures];    // [4 * 4][16]
  alignas(64) float fc1[SimdKernels::kGroup][kFc1Step];
  alignas(64) float fc2[SimdKernels::kGroup][kFc2Step];
  alignas(64) float fc3[SimdKernels::kGroup][kFc3Step];

  // The lanes after the last place are computed and dropped; they only must not be slow numbers.
  Scratch() {
    for (int i = 0; i < 2; ++i) {
      for (auto& set : columns) std::fill(set[i] + kRowPlaces, set[i] + kRowLine, 0.0f);
      for (auto& point : input1) std::fill(point[i] + kRowPlaces, point[i] + kRowLine, 0.0f);
      for (auto& map : pool1) std::fill(map[i] + kPlaces1, map[i] + kPoolLine, 0.0f);
    }
  }
  float* row(int set, int y) { return columns[set][y % 2] + y / 2 * kPairs; }
};

// Plain C++: four lanes, which every 64-bit processor has.
namespace baseline {

constexpr int kLanes = 4, kSums = 12;
using Vector = FloatVector<kLanes>::type;
using Unaligned = FloatVector<kLanes>::unaligned;

template <typename Pixel>
LENSLET_ALWAYS_INLINE void split_columns(const Pixel* image, Scratch& scratch) {
  for (int y = 0; y < kSide; ++y) {
    for (int set = 0; set < kPoints; ++set) {
      for (int j = 0; j < kPairs; ++j)
        scratch.row(set, y)[j] = static_cast<float>(image[y * kSide + set + 4 * j]);
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

/// Reads every fourth one of the 28 pixels of a row, from the first, second, third and fourth on: seven lanes each.
LENSLET_ALWAYS_INLINE void every_fourth(const float* row, __m256 (&out)[4]) {
  __m256 four[4];  // neighbouring pixels, and those 16 further on
  LENSLET_UNROLL
  for (int i = 0; i < 4; ++i)
    four[i] = _mm256_set_m128(_mm_loadu_ps(row + (i < 3 ? 16 + 4 * i : 12)), _mm_loadu_ps(row + 4 * i));
  const __m256 a = _mm256_unpacklo_ps(four[0], four[1]), b = _mm256_unpackhi_ps(four[0], four[1]);
  const __m256 c = _mm256_unpacklo_ps(four[2], four[3]), d = _mm256_unpackhi_ps(four[2], four[3]);
  out[0] = _mm256_shuffle_ps(a, c, 0x44);
  out[1] = _mm256_shuffle_ps(a, c, 0xee);
  out[2] = _mm256_shuffle_ps(b, d, 0x44);
  out[3] = _mm256_shuffle_ps(b, d, 0xee);
}
LENSLET_ALWAYS_INLINE void every_fourth(const uint8_t* row, __m256 (&out)[4]) {
  const __m256i ends = _mm256_set_m128i(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 12)),
                                        _mm_loadu_si128(reinterpret_cast<const __m128i*>(row)));
  // Four pixels a lane.
  const __m256i fours = _mm256_permutevar8x32_epi32(ends, _mm256_setr_epi32(0, 1, 2, 3, 5, 6, 7, 7));
  const __m256i byte = _mm256_set1_epi32(255);
  out[0] = _mm256_cvtepi32_ps(_mm256_and_si256(fours, byte));
  out[1] = _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(fours, 8), byte));
  out[2] = _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(fours, 16), byte));
  out[3] = _mm256_cvtepi32_ps(_mm256_srli_epi32(fours, 24));
}
template <typename Pixel>
LENSLET_ALWAYS_INLINE void split_columns(const Pixel* image, Scratch& scratch) {
  const __m256i next = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7);
  for (int y = 0; y < kSide; ++y) {
    __m256 sets[4];
    every_fourth(image + y * kSide, sets);
    LENSLET_UNROLL
    for (int set = 0; set < 4; ++set) {
      _mm256_storeu_ps(scratch.row(set, y), sets[set]);
      _mm256_storeu_ps(scratch.row(set + 4, y), _mm256_permutevar8x32_ps(sets[set], next));
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

/// For each column set the lanes of two vectors that hold pixels 0..15 and 12..27 of a row; the last ten are unused.
struct ColumnPicks {
  alignas(64) int lane[kPoints][16] = {};
  constexpr ColumnPicks() {
    for (int set = 0; set < kPoints; ++set) {
      for (int j = 0; j < kPairs; ++j) {
        const int column = set + 4 * j;
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
    for (int set = 0; set < kPoints; ++set) {
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
