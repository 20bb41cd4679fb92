// Internal: an image as the words of resident_protocol.h.
#pragma once

#include <cstdint>

namespace lenslet::resident {

/// Writes kImageWords words with the tag, in the fastest way of this processor. Reads nothing beyond the image. `words`
/// is aligned to 16 bytes.
void pack_image(uint64_t* words, const uint8_t* pixels, uint64_t tag);
/// The same on every processor, one word at a time.
void pack_image_by_words(uint64_t* words, const uint8_t* pixels, uint64_t tag);

}  // namespace lenslet::resident
