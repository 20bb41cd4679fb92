// JPEG pictures of every kind are decoded; damaged and oversized ones are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "framework/base/error.h"
#include "framework/io/picture.h"
#include "tests/io/crafted_files.h"
#include "tests/io/expect_picture.h"

namespace lenslet::test {
namespace {

// Left half dark, right half light; with `channels` different levels.
Picture halves(int width, int height, int channels) {
  Bytes pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<uint8_t>((x < width / 2 ? 30 : 200) + 10 * c));
    }
  }
  return make_picture(width, height, channels, pixels);
}

void expect_close(const Picture& actual, const Picture& expected) {
  ASSERT_EQ(actual.width, expected.width);
  ASSERT_EQ(actual.height, expected.height);
  ASSERT_EQ(actual.channels, expected.channels);
  int worst = 0;
  for (size_t i = 0; i < expected.pixels.size(); ++i)
    worst = std::max(worst, std::abs(actual.pixels[i] - expected.pixels[i]));
  EXPECT_LE(worst, 12);
}

TEST(Jpeg, ReadsGreyAndColourBaselineAndProgressive) {
  for (const int channels : {1, 3}) {
    for (const bool progressive : {false, true}) {
      const Picture picture = halves(64, 48, channels);
      const Picture decoded = decode_picture(jpeg(picture, 95, progressive), "picture");
      expect_close(decoded, picture);
      EXPECT_EQ(decoded.format, "JPEG");
    }
  }
}

TEST(Jpeg, ReadsCmyk) {
  // Without a transform libjpeg writes no Adobe marker for CMYK: 255 is full ink. White paper, black half.
  Bytes pixels;
  for (int i = 0; i < 16 * 16; ++i) {
    const uint8_t black = i % 16 < 8 ? 255 : 0;
    pixels.insert(pixels.end(), {0, 0, 0, black});
  }
  Bytes file = jpeg(make_picture(16, 16, 4, pixels), 95);
  const Picture adobe = decode_picture(file, "picture");
  ASSERT_EQ(adobe.channels, 3);
  // The same file without its Adobe marker (APP14) is read the other way round.
  const Bytes marker = {0xff, 0xee, 0x00, 0x0e};
  const auto at = std::search(file.begin(), file.end(), marker.begin(), marker.end());
  ASSERT_NE(at, file.end());
  file.erase(at, at + 16);
  const Picture plain = decode_picture(file, "picture");
  ASSERT_EQ(plain.channels, 3);
  EXPECT_LE(plain.pixels[0], 10);        // black
  EXPECT_GE(plain.pixels[3 * 15], 245);  // white
  EXPECT_LE(adobe.pixels[3 * 15], 10) << "0 is full ink in a file of Adobe's";
}

TEST(Jpeg, TurnsPicturesByTheExifOrientation) {
  // 32x16 with one light quarter at the top left, found by the mean of each quarter.
  Bytes pixels;
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 32; ++x) pixels.push_back(x < 16 && y < 8 ? 220 : 20);
  }
  const Picture picture = make_picture(32, 16, 1, pixels);
  // The place of that quarter: orientation -> right?, bottom?, exchanged?
  const bool expected[9][3] = {{},
                               {false, false, false},
                               {true, false, false},
                               {true, true, false},
                               {false, true, false},
                               {false, false, true},
                               {true, false, true},
                               {true, true, true},
                               {false, true, true}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool little : {false, true}) {
      const Picture decoded = decode_picture(jpeg(picture, 95, false, exif(orientation, little)), "picture");
      const auto [right, bottom, exchanged] =
          std::tuple(expected[orientation][0], expected[orientation][1], expected[orientation][2]);
      ASSERT_EQ(decoded.width, exchanged ? 16 : 32) << orientation;
      const int x = right ? decoded.width - 2 : 1, y = bottom ? decoded.height - 2 : 1;
      EXPECT_GT(decoded.pixels[static_cast<size_t>(y * decoded.width + x)], 180) << orientation;
      EXPECT_LT(
          decoded
              .pixels[static_cast<size_t>((decoded.height - 1 - y) * decoded.width + decoded.width - 1 - x)],
          60)
          << orientation;
    }
  }
  // An invalid block is no reason to refuse the picture.
  expect_close(decode_picture(jpeg(picture, 95, false, exif(77, true)), "picture"), picture);
  expect_close(decode_picture(
                   jpeg(picture, 95, false,
                        bytes_of("Exif") + Bytes(2, 0) + bytes_of("II*") + Bytes{0, 0xff, 0xff, 0xff, 0xff}),
                   "picture"),
               picture);
}

TEST(Jpeg, RefusesFilesCutAnywhere) {
  for (const bool progressive : {false, true}) {
    const Bytes file = jpeg(halves(64, 64, 3), 80, progressive);
    for (size_t size = 3; size + 2 < file.size(); ++size) {
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THROW(decode_picture(cut, "picture"), DataError) << size;
    }
    expect_refused(Bytes(file.begin(), file.end() - 30), "truncated: the file ends within the picture");
  }
  expect_refused({0xff, 0xd8, 0xff, 0xe0}, "truncated");
}

TEST(Jpeg, RefusesDamagedDataInsteadOfFillingWithGrey) {
  const Bytes file = jpeg(halves(64, 64, 1), 80);
  const Bytes cut = Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() - 40)) +
                    Bytes{0xff, 0xd9};  // an end mark too early
  expect_refused(cut, "damaged: ");
}

TEST(Jpeg, BoundsItsMemory) {
  // One header states 65,500 x 65,500; another fits the pixels, but not the memory for coefficients.
  Bytes file = jpeg(halves(16, 16, 1), 80);
  const Bytes frame = {0xff, 0xc0, 0x00, 0x0b, 0x08};
  const auto at = std::search(file.begin(), file.end(), frame.begin(), frame.end()) - file.begin();
  ASSERT_LT(static_cast<size_t>(at) + 9, file.size());
  const auto with_size = [&](int height, int width) {
    Bytes changed = file;
    const auto i = static_cast<size_t>(at) + 5;
    changed[i] = static_cast<uint8_t>(height >> 8);
    changed[i + 1] = static_cast<uint8_t>(height);
    changed[i + 2] = static_cast<uint8_t>(width >> 8);
    changed[i + 3] = static_cast<uint8_t>(width);
    return changed;
  };
  expect_refused(with_size(65500, 65500), "65500x65500 pixels, expected at most 67108864");
  expect_refused(with_size(0, 16), "damaged");
  PictureLimits limits;
  limits.max_decode_bytes = 1000;
  const Picture reduced = decode_picture(jpeg(halves(64, 64, 1), 95), "picture", limits);
  EXPECT_EQ(reduced.width, 16) << "64x64 and 32x32 take more than 1,000 bytes";
  expect_error<DataError>([&] { decode_picture(jpeg(halves(64, 64, 1), 95, true), "picture", limits); },
                          "bytes to decode, expected at most 1000");
}

}  // namespace
}  // namespace lenslet::test
