// Internal: the protocol by which a host and a resident kernel exchange images and answers through page-locked memory.
//
// Image k is in slot k % kSlots as 112 words of seven pixels and a tag. Each of n clusters, a launch of its own, takes
// every n-th image, so always the same slots. The image's answer is eleven words, each a value and a
// tag. Every word is read and written atomically (relaxed, system scope), and its tag shows whether it is the expected
// one. So the words need no order, and an image is complete as soon as one read of its slot finds every tag, without a
// flag.
#pragma once

#include <cstdint>

#include "framework/base/host_device.h"

namespace lenslet::resident {

// Images in flight. A cluster takes one image at a time: more slots would only lengthen the queue. Chosen by hand.
inline constexpr int kSlots = 64;
inline constexpr int kMaxClusters =
    16;  // a power of two, as many clusters of eight blocks as an H200 has room for
static_assert(kSlots % kMaxClusters == 0, "a slot belongs to one cluster");
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
  uint64_t ended[kMaxClusters];  // the last launch of each cluster that has ended
};

/// One run of a cluster.
struct Turn {
  int cluster, clusters;  // it takes images k with k % clusters == cluster
  uint64_t launch;        // written to Memory::ended at the end
  uint64_t first_image;   // its first one without an answer
  int64_t idle_ns;        // time without an image after which it ends
  int64_t lease_ns;       // time after which it ends before the next image
};

}  // namespace lenslet::resident
