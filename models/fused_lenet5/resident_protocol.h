// Internal: how a host and a resident kernel pass images and answers through page-locked memory.
//
// Image k lies in slot k % kSlots as 112 words of seven pixels and a tag; the answer to it is eleven words, each a value and a
// tag. Every word is read and written at once (relaxed, system scope), and its tag says for itself whether it is the
// one awaited: so no word needs to be ordered after another, and an image is there as soon as one read of its slot finds
// every tag, without a flag to be read before.
#pragma once

#include <cstdint>

#include "framework/keep_nan.h"

namespace lenslet::resident {

inline constexpr int kSlots = 64;
inline constexpr int kWordPixels = 7, kImageWords = 112;       // 28 x 28 bytes; a row is four words
inline constexpr int kAnswerWords = 16, kPredictionWord = 10;  // ten logits, the prediction, five unused
inline constexpr uint64_t kStopTag = 255;                      // in word 0 of an image: the kernel ends

/// Differs from the tag of the image before in the same slot, and from zero, which memory begins with.
constexpr LENSLET_HOST_DEVICE uint64_t tag_of(uint64_t image) { return image / kSlots % 127 + 1; }

/// seven pixels | tag << 56
constexpr LENSLET_HOST_DEVICE uint64_t image_tag(uint64_t word) { return word >> 56; }
/// bits of a float | label << 32 (predictions) | tag << 56
constexpr LENSLET_HOST_DEVICE uint64_t answer_word(uint32_t bits, uint32_t label, uint64_t tag) {
  return bits | uint64_t{label} << 32 | tag << 56;
}

struct Memory {
  uint64_t images[kSlots][kImageWords];
  uint64_t answers[kSlots][kAnswerWords];
  uint64_t ended;  // the last launch that is over
};

}  // namespace lenslet::resident
