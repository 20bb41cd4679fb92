#include "models/fused_lenet5/pack_image.h"

#include <cstring>

#include "framework/base/simd.h"
#include "models/fused_lenet5/resident_protocol.h"
#include "models/fused_lenet5/spin_wait.h"
#include "models/lenet5_sizes.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace lenslet::resident {

// Reads eight bytes for the seven pixels of a word; for the last word the eight bytes that end with the image.
void pack_image_by_words(uint64_t* words, const uint8_t* pixels, uint64_t tag) {
  constexpr uint64_t kPixels = (uint64_t{1} << 56) - 1;
  uint64_t eight = 0;
  for (int i = 0; i < kImageWords - 1; ++i) {
    std::memcpy(&eight, pixels + i * kWordPixels, sizeof eight);
    store_word(words[i], (eight & kPixels) | tag << 56);
  }
  std::memcpy(&eight, pixels + kLenet5Pixels - sizeof eight, sizeof eight);
  store_word(words[kImageWords - 1], eight >> 8 | tag << 56);
}

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

// Sixteen bytes are read for fourteen. Processors with AVX store sixteen aligned bytes at once (Intel SDM, volume 3A,
// "Guaranteed Atomic Operations"), so that no reader finds half a word.
LENSLET_TARGET_AVX2 void pack_image_by_pairs(uint64_t* words, const uint8_t* pixels, uint64_t tag) {
  constexpr int kPairs = kImageWords / 2, kPairPixels = 2 * kWordPixels;
  const __m128i shuffle = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, -1, 7, 8, 9, 10, 11, 12, 13, -1);
  const __m128i tags = _mm_set1_epi64x(static_cast<int64_t>(tag << 56));
  for (int i = 0; i < kPairs; ++i) {
    const bool last = i == kPairs - 1;
    __m128i pair;
    std::memcpy(&pair, pixels + i * kPairPixels - (last ? 2 : 0), sizeof pair);
    if (last) pair = _mm_srli_si128(pair, 2);
    const __m128i both = _mm_or_si128(_mm_shuffle_epi8(pair, shuffle), tags);
    _mm_store_si128(reinterpret_cast<__m128i*>(words) + i, both);
  }
}

}  // namespace

void pack_image(uint64_t* words, const uint8_t* pixels, uint64_t tag) {
  if (simd_level() == SimdLevel::kBaseline) return pack_image_by_words(words, pixels, tag);
  pack_image_by_pairs(words, pixels, tag);
}

#else

void pack_image(uint64_t* words, const uint8_t* pixels, uint64_t tag) {
  pack_image_by_words(words, pixels, tag);
}

#endif

}  // namespace lenslet::resident
