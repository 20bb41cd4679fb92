// Numbers as elements of 16 bits.
#include "framework/tensor/stored_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/tensor/float_formats.h"
#include "framework/tensor/roundoff.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

constexpr ElementType kHalves[] = {ElementType::kFp16, ElementType::kBf16};

float loaded(ElementType type, uint16_t bits) {
  float value;
  load_floats(type, &bits, 1, &value);
  return value;
}

uint16_t stored(ElementType type, float value) {
  uint16_t bits;
  store_floats(type, &value, 1, &bits);
  return bits;
}

TEST(ElementTypes, HaveTheirSize) {
  EXPECT_EQ(bytes_of(ElementType::kFp32, 3), 12u);
  EXPECT_EQ(bytes_of(ElementType::kFp16, 3), 6u);
  EXPECT_EQ(bytes_of(ElementType::kBf16, 3), 6u);
  EXPECT_NE(ElementType::kFp16, ElementType::kBf16);
}

TEST(StoredFloats, EveryNumberKeepsItsBits) {
  for (const ElementType type : kHalves) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float value = loaded(type, static_cast<uint16_t>(bits));
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(loaded(type, stored(type, value)))) << type.name() << " " << bits;
      } else {
        ASSERT_EQ(stored(type, value), bits) << type.name() << " " << value;
      }
    }
  }
}

// Between two neighbours the nearer one, and of two that are equally near that with an even last bit.
TEST(StoredFloats, RoundToNearestEven) {
  for (const ElementType type : kHalves) {
    const uint32_t infinity = type == ElementType::kFp16 ? 0x7c00 : 0x7f80;
    for (uint32_t below = 0; below + 1 < infinity; ++below) {
      const double low = loaded(type, static_cast<uint16_t>(below)),
                   high = loaded(type, static_cast<uint16_t>(below + 1));
      const auto middle = static_cast<float>((low + high) / 2);
      ASSERT_EQ(middle, (low + high) / 2) << "exact in fp32";
      for (const uint32_t sign : {0u, 0x8000u}) {
        const float side = sign == 0 ? 1.0f : -1.0f;
        ASSERT_EQ(stored(type, side * middle), sign | (below % 2 == 0 ? below : below + 1)) << middle;
        ASSERT_EQ(stored(type, side * std::nextafter(middle, 0.0f)), sign | below) << middle;
        ASSERT_EQ(stored(type, side * std::nextafter(middle, INFINITY)), sign | (below + 1)) << middle;
      }
    }
  }
  EXPECT_EQ(rounded_to(ElementType::kFp16, 65519.0f), 65504.0f);
  EXPECT_EQ(rounded_to(ElementType::kFp16, 65520.0f), INFINITY);
  EXPECT_EQ(rounded_to(ElementType::kFp16, -1e9f), -INFINITY);
  EXPECT_EQ(rounded_to(ElementType::kBf16, std::numeric_limits<float>::max()), INFINITY);
  for (const ElementType type : kHalves) EXPECT_TRUE(std::isnan(rounded_to(type, NAN))) << type.name();
  EXPECT_EQ(rounded_to(ElementType::kFp32, 0.1f), 0.1f);
}

TEST(StoredFloats, StayWithinTheUnitRoundoff) {
  for (const ElementType type : kHalves) {
    const StoringError error = storing_error(type);
    double largest = 0;
    for (int i = 1; i < 100000; ++i) {
      const float value = static_cast<float>(i) * 1.2345e-5f;
      const double found = std::fabs(double{rounded_to(type, value)} - value);
      EXPECT_LE(found, error.relative * value + error.absolute) << value;
      largest = std::max(largest, found / (error.relative * value + error.absolute));
    }
    EXPECT_GT(largest, 0.9) << "the bound is not too wide: " << type.name();
  }
  EXPECT_EQ(storing_error(ElementType::kFp32).relative, 0);
}

TEST(StoredFloats, FillWholeFloats) {
  const float values[] = {1, -2, 0.5f};
  const std::vector<float> halves = stored_floats(ElementType::kFp16, values, 3);
  ASSERT_EQ(halves.size(), 2u);
  uint16_t bits[4];
  std::memcpy(bits, halves.data(), sizeof bits);
  EXPECT_EQ(bits[0], 0x3c00);
  EXPECT_EQ(bits[1], 0xc000);
  EXPECT_EQ(bits[2], 0x3800);
  EXPECT_EQ(bits[3], 0);
  EXPECT_EQ(stored_floats(ElementType::kFp32, values, 3), std::vector<float>(values, values + 3));
  std::vector<float> rounded = {1.0f + 0x1p-9f};
  round_to(ElementType::kBf16, rounded);
  EXPECT_EQ(rounded[0], 1.0f);
}

TEST(StoredFloats, RefusePixelTypes) {
  float value = 0;
  expect_error<DataError>([&] { store_floats(ElementType::kUint8, &value, 1, &value); },
                          "cannot convert elements of type uint8; expected fp32, fp16 or bf16");
  expect_error<DataError>([&] { load_floats(ElementType::kUint4, &value, 1, &value); }, "uint4");
}

}  // namespace
}  // namespace lenslet
