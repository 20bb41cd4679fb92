// Pixels in the types that a model reads: bytes, packed pairs of 4 bits, and normalised values.
//
// Packing rounds a pixel x of 0..255 to the nearest of 16 greys:
//   code = (x + 8) / 17, rounded down: 0..15      grey = 17 * code: 0, 17, ... 255
// 255 = 15 * 17, so blank and full ink are exact; others change by 8 at most. No pixel lies halfway between two greys,
// since 17 is odd. Packing greys again gives the same codes.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/tensor/tensor.h"

namespace lenslet {

class Normalisation;

/// The codes of two neighbouring pixels: the first in the low four bits, as ONNX packs UINT4.
enum class PixelPair : uint8_t {};

inline constexpr int kGreyStep = 17;  // between the greys of two neighbouring codes

/// The code of a pixel.
constexpr uint8_t packed_code(uint8_t pixel) noexcept {
  return static_cast<uint8_t>((pixel + kGreyStep / 2) / kGreyStep);
}
/// The grey of the first pixel of a pair.
constexpr uint8_t first_grey(PixelPair pair) noexcept {
  return static_cast<uint8_t>((static_cast<uint8_t>(pair) & 15) * kGreyStep);
}
/// The grey of the second one.
constexpr uint8_t second_grey(PixelPair pair) noexcept {
  return static_cast<uint8_t>((static_cast<uint8_t>(pair) >> 4) * kGreyStep);
}

/// Packs `count` pixels to (count + 1) / 2 pairs. After an odd count the last pair ends with code 0.
void pack_pixels(const uint8_t* pixels, int64_t count, PixelPair* pairs) noexcept;
/// Writes the greys of `count` pixels.
void unpack_pixels(const PixelPair* pairs, int64_t count, uint8_t* pixels) noexcept;

/// Rounds pixels in place, as packing does.
void round_to_greys(uint8_t* pixels, int64_t count) noexcept;

/// `count` random bytes, the same for the same seed. Constant pixels would hide denormals and branches from a timing.
std::vector<uint8_t> random_pixels(int64_t count, uint64_t seed);

/// Copies `count` pixels of type `given` to `to`, as type `wanted`, with all threads: packs, unpacks or normalises them
/// if the types differ. kFp32 values can only be copied. Both types are pixels or kFp32.
void convert_pixels(ElementType given, const void* from, int64_t count, const Normalisation& normalisation,
                    ElementType wanted, void* to);

}  // namespace lenslet
