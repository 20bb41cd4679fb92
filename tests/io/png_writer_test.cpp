// Pictures written as PNG are read back unchanged.
#include "framework/io/png_writer.h"

#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "tests/support/expect_error.h"

namespace lenslet::test {
namespace {

Picture image_of(int width, int height, int channels, int step) {
  Picture picture{width, height, channels, {}, "PNG"};
  for (int i = 0; i < width * height * channels; ++i) {
    picture.pixels.push_back(static_cast<uint8_t>(i * step % 251));
  }
  return picture;
}

TEST(PngWriter, IsReadBack) {
  for (const int channels : {1, 2, 3, 4}) {
    for (const auto& [width, height] :
         {std::pair{1, 1}, std::pair{1, 9}, std::pair{17, 1}, std::pair{33, 20}}) {
      for (const int step : {0, 1, 97}) {  // flat, smooth and rough rows take different filters
        const Picture picture = image_of(width, height, channels, step);
        const std::string bytes = encode_png(picture);
        const Picture back = decode_picture({bytes.begin(), bytes.end()}, "picture");
        EXPECT_EQ(back.width, width);
        EXPECT_EQ(back.height, height);
        EXPECT_EQ(back.channels, channels);
        EXPECT_EQ(back.pixels, picture.pixels) << channels << " channels, step " << step;
      }
    }
  }
}

TEST(PngWriter, RefusesWhatIsNoPicture) {
  expect_error<DataError>([] { encode_png({0, 1, 3, {}, ""}); }, "found 0x1x3");
  expect_error<DataError>([] { encode_png({1, 1, 5, {1, 2, 3, 4, 5}, ""}); }, "found 1x1x5");
  expect_error<DataError>([] { encode_png({2, 2, 1, {1, 2, 3}, ""}); }, "3 values");
}

}  // namespace
}  // namespace lenslet::test
