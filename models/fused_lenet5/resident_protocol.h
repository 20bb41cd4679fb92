// Internal: the protocol by which a host and a resident kernel exchange images and answers through page-locked memory.
//
// Image k is in slot k % kSlots as 112 words of seven pixels and a tag, and a word that names the launch which is to
// compute it. Each of n clusters takes every n-th image, so always the same slots. The image's answer is eleven words,
// each a value and a tag. Every word is read and written atomically (relaxed, system scope), and its tag shows whether
// it is the expected one. So the words need no order, and an image is complete as soon as one read of its slot finds
// every tag, without a flag.
//
// A launch ends where it finds the name of another. So the host ends every cluster by naming the next launch in every
// slot, and images in flight stay there for it.
#pragma once

#include <cstdint>

#include "framework/base/host_device.h"

namespace lenslet::resident {

// Images in flight. A cluster takes one image at a time: more slots would only lengthen the queue. Chosen by hand.
inline constexpr int kSlots = 64;
// A power of two that divides kSlots. 64 clusters of two blocks are 128 of an H200's 132 multiprocessors.
inline constexpr int kMaxClusters = 64;
static_assert(kSlots % kMaxClusters == 0, "a slot belongs to one cluster");
inline constexpr int kWordPixels = 7, kImageWords = 112;  // 28 x 28 bytes; a row is four words
inline constexpr int kLaunchWord = kImageWords;           // of a slot
inline constexpr int kSlotWords = 128;                    // whole 128 bytes, as a warp reads them
inline constexpr int kLogitWords = 16;                    // ten logits, six unused

/// Differs from the tag of the image before in the same slot, and from zero, which memory begins with.
constexpr LENSLET_HOST_DEVICE uint64_t tag_of(uint64_t image) { return image / kSlots % 127 + 1; }

/// seven pixels | tag << 56
constexpr LENSLET_HOST_DEVICE uint64_t image_tag(uint64_t word) { return word >> 56; }
/// tag of the slot's image | launch << 8
constexpr LENSLET_HOST_DEVICE uint64_t launch_word(uint64_t launch, uint64_t tag) {
  return launch << 8 | tag;
}
constexpr LENSLET_HOST_DEVICE uint64_t launch_of(uint64_t word) { return word >> 8; }
/// bits of a float | label << 32 (predictions) | tag << 56
constexpr LENSLET_HOST_DEVICE uint64_t answer_word(uint32_t bits, uint32_t label, uint64_t tag) {
  return bits | uint64_t{label} << 32 | tag << 56;
}
constexpr LENSLET_HOST_DEVICE uint64_t answer_tag(uint64_t word) { return word >> 56; }

struct Memory {
  alignas(128) uint64_t images[kSlots][kSlotWords];
  uint64_t predictions[kSlots];  // one beside the other: the host reads eight with a cache line
  uint64_t logits[kSlots][kLogitWords];
  uint64_t ended[kMaxClusters];  // the last launch of each cluster that has ended
};

/// One launch of all clusters: cluster c takes images k with k % clusters == c.
struct Turn {
  int clusters;
  uint64_t launch;                     // counted from 1; written to Memory::ended at the end
  uint64_t first_image[kMaxClusters];  // of each cluster, without an answer
  int64_t idle_ns;                     // time without an image after which a cluster ends
  int64_t lease_ns;                    // time after which it ends before the next image
};

}  // namespace lenslet::resident
