#include "framework/tensor/pixels.h"

#include <cstring>
#include <random>
#include <stdexcept>

#include "framework/base/parallel.h"
#include "framework/tensor/normalisation.h"

namespace lenslet {
namespace {

constexpr int64_t kPixelsPerTask = 64 * 784;  // even, so that tasks share no pair

constexpr PixelPair pair_of(uint8_t first, uint8_t second) noexcept {
  return static_cast<PixelPair>(packed_code(first) | packed_code(second) << 4);
}

}  // namespace

void pack_pixels(const uint8_t* pixels, int64_t count, PixelPair* pairs) noexcept {
  for (int64_t i = 0; i < count / 2; ++i) pairs[i] = pair_of(pixels[2 * i], pixels[2 * i + 1]);
  if (count % 2 != 0) pairs[count / 2] = pair_of(pixels[count - 1], 0);
}

void unpack_pixels(const PixelPair* pairs, int64_t count, uint8_t* pixels) noexcept {
  for (int64_t i = 0; i < count / 2; ++i) {
    pixels[2 * i] = first_grey(pairs[i]);
    pixels[2 * i + 1] = second_grey(pairs[i]);
  }
  if (count % 2 != 0) pixels[count - 1] = first_grey(pairs[count / 2]);
}

void round_to_greys(uint8_t* pixels, int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i) pixels[i] = first_grey(pair_of(pixels[i], 0));
}

std::vector<uint8_t> random_pixels(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> pixels(static_cast<size_t>(count));
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random() >> 56);
  return pixels;
}

void convert_pixels(ElementType given, const void* from, int64_t count, const Normalisation& normalisation,
                    ElementType wanted, void* to) {
  if (count == 0) return;  // the pointers may be null, which memcpy may not be given
  const auto* const bytes = static_cast<const uint8_t*>(from);
  const auto* const pairs = static_cast<const PixelPair*>(from);
  if (given == wanted) {
    std::memcpy(to, from, bytes_of(given, count));
  } else if (given == ElementType::kUint8 && wanted == ElementType::kFp32) {
    normalisation.apply(bytes, count, static_cast<float*>(to));
  } else if (given == ElementType::kUint4 && wanted == ElementType::kFp32) {
    normalisation.apply(pairs, count, static_cast<float*>(to));
  } else if (given == ElementType::kUint8 && wanted == ElementType::kUint4) {
    parallel_for(count, kPixelsPerTask, [&](int64_t begin, int64_t end) {
      pack_pixels(bytes + begin, end - begin, static_cast<PixelPair*>(to) + begin / 2);
    });
  } else if (given == ElementType::kUint4 && wanted == ElementType::kUint8) {
    parallel_for(count, kPixelsPerTask, [&](int64_t begin, int64_t end) {
      unpack_pixels(pairs + begin / 2, end - begin, static_cast<uint8_t*>(to) + begin);
    });
  } else {
    throw std::logic_error(
        concat("pixels cannot be converted from ", to_string(given), " to ", to_string(wanted)));
  }
}

}  // namespace lenslet
