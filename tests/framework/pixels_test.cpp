// Packed pixels: which code a pixel becomes, which grey a code stands for, and every conversion of a number of pixels.
#include "framework/tensor/pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "framework/base/parallel.h"
#include "framework/tensor/normalisation.h"

namespace lenslet {
namespace {

// One image, odd and even ends, and several tasks of a parallel loop.
constexpr int64_t kCounts[] = {0, 1, 2, 3, 7, 783, 784, 785, 50176, 50177, 150529};

std::vector<uint8_t> some_pixels(int64_t count) {
  std::vector<uint8_t> pixels(static_cast<size_t>(count));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 89 + i / 256);
  return pixels;
}

TEST(Pixels, BecomeTheCodeOfTheNearestGrey) {
  for (int pixel = 0; pixel < 256; ++pixel) {
    const int code = packed_code(static_cast<uint8_t>(pixel));
    EXPECT_EQ(code, std::lround(pixel / 17.0)) << pixel;
    EXPECT_LE(std::abs(17 * code - pixel), 8) << pixel;
  }
  EXPECT_EQ(packed_code(0), 0);
  EXPECT_EQ(packed_code(8), 0);
  EXPECT_EQ(packed_code(9), 1);
  EXPECT_EQ(packed_code(246), 14);
  EXPECT_EQ(packed_code(247), 15);
  EXPECT_EQ(packed_code(255), 15);
}

TEST(Pixels, GreysStandForTheirCodes) {
  for (int code = 0; code < 16; ++code) {
    const auto pair = static_cast<PixelPair>(code | (15 - code) << 4);
    EXPECT_EQ(first_grey(pair), 17 * code);
    EXPECT_EQ(second_grey(pair), 17 * (15 - code));
    EXPECT_EQ(packed_code(first_grey(pair)), code) << "packing greys again changes them";
  }
}

TEST(Pixels, TheFirstOfTwoIsInTheLowHalf) {
  const uint8_t pixels[] = {17, 34, 51, 255};
  PixelPair pairs[2];
  pack_pixels(pixels, 4, pairs);
  EXPECT_EQ(static_cast<int>(pairs[0]), 0x21);
  EXPECT_EQ(static_cast<int>(pairs[1]), 0xf3);
}

TEST(Pixels, AreRoundedAsPackingDoes) {
  std::vector<uint8_t> pixels = some_pixels(785);
  std::vector<PixelPair> pairs(393);
  std::vector<uint8_t> greys(785);
  pack_pixels(pixels.data(), 785, pairs.data());
  unpack_pixels(pairs.data(), 785, greys.data());
  round_to_greys(pixels.data(), 785);
  EXPECT_EQ(pixels, greys);
}

TEST(Pixels, PackingAndUnpackingTouchNothingBehindTheirEnds) {
  constexpr uint8_t kCanary = 0xa5;
  for (const int64_t count : kCounts) {
    SCOPED_TRACE(count);
    const std::vector<uint8_t> pixels = some_pixels(count);
    const size_t bytes = bytes_of(ElementType::kUint4, count);
    EXPECT_EQ(bytes, static_cast<size_t>((count + 1) / 2));
    std::vector<uint8_t> packed(bytes + 1, kCanary);
    pack_pixels(pixels.data(), count, reinterpret_cast<PixelPair*>(packed.data()));
    EXPECT_EQ(packed[bytes], kCanary);
    if (count % 2 != 0) {
      EXPECT_EQ(packed[bytes - 1] >> 4, 0) << "half a byte after an odd count";
    }
    std::vector<uint8_t> greys(pixels.size() + 1, kCanary);
    unpack_pixels(reinterpret_cast<const PixelPair*>(packed.data()), count, greys.data());
    EXPECT_EQ(greys[pixels.size()], kCanary);
    for (size_t i = 0; i < pixels.size(); ++i)
      ASSERT_EQ(greys[i], 17 * std::lround(pixels[i] / 17.0)) << "pixel " << i;
  }
}

TEST(Pixels, AreConvertedAlikeByAnyNumberOfThreads) {
  const Normalisation normalisation(0.1307f, 0.3081f);
  const int before = num_threads();
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const int64_t count : kCounts) {
      SCOPED_TRACE(testing::Message() << count << " pixels, " << threads << " threads");
      const std::vector<uint8_t> pixels = some_pixels(count);
      std::vector<uint8_t> greys;
      greys.reserve(pixels.size());
      for (const uint8_t pixel : pixels)
        greys.push_back(static_cast<uint8_t>(std::lround(pixel / 17.0) * 17));
      std::vector<PixelPair> pairs(bytes_of(ElementType::kUint4, count));
      pack_pixels(pixels.data(), count, pairs.data());
      std::vector<float> of_pixels(pixels.size()), of_greys(pixels.size());
      for (size_t i = 0; i < pixels.size(); ++i) {
        of_pixels[i] = (static_cast<float>(pixels[i]) / 255.0f - 0.1307f) / 0.3081f;
        of_greys[i] = (static_cast<float>(greys[i]) / 255.0f - 0.1307f) / 0.3081f;
      }
      const auto expect = [&](ElementType given, const void* from, ElementType wanted, const void* expected) {
        std::vector<uint8_t> found(bytes_of(wanted, count) + 1, 0xa5);
        convert_pixels(given, from, count, normalisation, wanted, found.data());
        const auto* const bytes = static_cast<const uint8_t*>(expected);
        EXPECT_TRUE(std::equal(found.begin(), found.end() - 1, bytes))
            << to_string(given) << " to " << to_string(wanted);
        EXPECT_EQ(found.back(), 0xa5) << to_string(given) << " to " << to_string(wanted);
      };
      expect(ElementType::kUint8, pixels.data(), ElementType::kUint8, pixels.data());
      expect(ElementType::kUint8, pixels.data(), ElementType::kUint4, pairs.data());
      expect(ElementType::kUint4, pairs.data(), ElementType::kUint4, pairs.data());
      expect(ElementType::kUint4, pairs.data(), ElementType::kUint8, greys.data());
      expect(ElementType::kFp32, of_pixels.data(), ElementType::kFp32, of_pixels.data());
      if (count == 0) continue;  // no memory that is aligned for floats
      std::vector<float> values(pixels.size());
      convert_pixels(ElementType::kUint8, pixels.data(), count, normalisation, ElementType::kFp32,
                     values.data());
      EXPECT_EQ(values, of_pixels);
      convert_pixels(ElementType::kUint4, pairs.data(), count, normalisation, ElementType::kFp32,
                     values.data());
      EXPECT_EQ(values, of_greys);
    }
  }
  set_num_threads(before);
}

TEST(Pixels, RandomOnesDependOnTheSeedAndHaveEveryValue) {
  const std::vector<uint8_t> pixels = random_pixels(10000, 1);
  EXPECT_EQ(pixels, random_pixels(10000, 1));
  EXPECT_NE(pixels, random_pixels(10000, 2));
  EXPECT_EQ(std::set<uint8_t>(pixels.begin(), pixels.end()).size(), 256u);
}

TEST(Pixels, ValuesDoNotBecomePixels) {
  const float value = 0;
  uint8_t pixel = 0;
  for (const ElementType wanted : {ElementType::kUint8, ElementType::kUint4})
    EXPECT_THROW(convert_pixels(ElementType::kFp32, &value, 1, {}, wanted, &pixel), std::logic_error);
}

}  // namespace
}  // namespace lenslet
