// PNG pictures of every kind are decoded; damaged ones and decompression bombs are refused.
#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "framework/io/picture.h"
#include "tests/io/crafted_files.h"
#include "tests/io/expect_picture.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

void expect_pixels(const PngSpec& spec, const Bytes& rows, int channels, const Bytes& pixels) {
  expect_picture(png(spec, rows), static_cast<int>(spec.width), static_cast<int>(spec.height), channels,
                 pixels);
}

PngSpec spec_of(uint32_t width, uint32_t height, int depth, int colour) {
  PngSpec spec;
  spec.width = width;
  spec.height = height;
  spec.depth = depth;
  spec.colour = colour;
  return spec;
}

TEST(Png, ReadsEveryColourTypeAndDepth) {
  expect_pixels(spec_of(2, 1, 8, 0), {0, 7, 200}, 1, {7, 200});
  expect_pixels(spec_of(4, 1, 1, 0), {0, 0xa0}, 1, {255, 0, 255, 0});
  expect_pixels(spec_of(4, 1, 2, 0), {0, 0x1b}, 1, {0, 85, 170, 255});
  expect_pixels(spec_of(2, 1, 4, 0), {0, 0x0f}, 1, {0, 255});
  expect_pixels(spec_of(2, 1, 16, 0), {0, 0x12, 0x34, 0xff, 0xff}, 1, {0x12, 0xff});
  expect_pixels(spec_of(1, 1, 8, 2), {0, 1, 2, 3}, 3, {1, 2, 3});
  expect_pixels(spec_of(1, 1, 16, 2), {0, 1, 0, 2, 0, 3, 0}, 3, {1, 2, 3});
  expect_pixels(spec_of(2, 1, 8, 4), {0, 9, 128, 8, 0}, 2, {9, 128, 8, 0});
  expect_pixels(spec_of(1, 1, 16, 4), {0, 9, 0, 128, 0}, 2, {9, 128});
  expect_pixels(spec_of(1, 1, 8, 6), {0, 1, 2, 3, 4}, 4, {1, 2, 3, 4});
  expect_pixels(spec_of(1, 1, 16, 6), {0, 1, 0, 2, 0, 3, 0, 4, 0}, 4, {1, 2, 3, 4});
}

TEST(Png, ReadsPalettesAndTransparency) {
  PngSpec spec = spec_of(3, 1, 8, 3);
  spec.palette = {10, 11, 12, 20, 21, 22};
  expect_pixels(spec, {0, 1, 0, 1}, 3, {20, 21, 22, 10, 11, 12, 20, 21, 22});
  // An index beyond the palette is black, never uninitialised memory.
  expect_pixels(spec, {0, 1, 2, 255}, 3, {20, 21, 22, 0, 0, 0, 0, 0, 0});
  spec.transparency = {0};
  expect_pixels(spec, {0, 1, 0, 1}, 4, {20, 21, 22, 255, 10, 11, 12, 0, 20, 21, 22, 255});
  spec.depth = 1;
  expect_pixels(spec, {0, 0x40}, 4, {10, 11, 12, 0, 20, 21, 22, 255, 10, 11, 12, 0});
  PngSpec grey = spec_of(2, 1, 8, 0);
  grey.transparency = {0, 7};
  expect_pixels(grey, {0, 7, 8}, 2, {7, 0, 8, 255});
}

TEST(Png, UndoesTheFiltersOfRows) {
  expect_pixels(spec_of(3, 5, 8, 0), {0, 1, 2, 3, 1, 1, 1, 1, 2, 1, 1, 1, 3, 1, 1, 1, 4, 1, 1, 1}, 1,
                {1, 2, 3, 1, 2, 3, 2, 3, 4, 2, 3, 4, 3, 4, 5});
}

TEST(Png, ReadsInterlacedPictures) {
  // Adam7 of 3x3: pass 1 (0,0), pass 5 row 2 at columns 0 and 2, pass 6 columns 1 of rows 0 and 2, pass 7 row 1, ...
  PngSpec spec = spec_of(3, 3, 8, 0);
  spec.interlaced = true;
  const Bytes passes = {0, 10,           // pass 1: (0, 0)
                        0, 12,           // pass 4: (2, 0)
                        0, 30, 32,       // pass 5: row 2, columns 0 and 2
                        0, 11, 0,  31,   // pass 6: column 1 of rows 0 and 2
                        0, 20, 21, 22};  // pass 7: row 1
  expect_pixels(spec, passes, 1, {10, 11, 12, 20, 21, 22, 30, 31, 32});
}

TEST(Png, ReadsExtremeShapes) {
  const Picture wide = make_picture(5000, 3, 3, Bytes(45000, 9)), dot = make_picture(1, 1, 1, {7});
  EXPECT_EQ(decode_picture(png(wide), "picture").pixels, wide.pixels);
  EXPECT_EQ(decode_picture(png(dot), "picture").pixels, dot.pixels);
}

TEST(Png, IgnoresWhatOthersMayAdd) {
  const Bytes plain = png(make_picture(1, 1, 1, {7}));
  const size_t after_header = 8 + 12 + 13;
  const Bytes head(plain.begin(), plain.begin() + after_header),
      tail(plain.begin() + after_header, plain.end());
  const Bytes text = png_chunk("tEXt", bytes_of("Comment\0hello")), phone = png_chunk("CgBI", {1, 2, 3, 4});
  EXPECT_EQ(decode_picture(head + text + tail + bytes_of("trailing"), "picture").pixels, (Bytes{7}));
  expect_refused(Bytes(plain.begin(), plain.begin() + 8) + phone + head,
                 "expected one IHDR chunk, at the start, found CgBI");
  expect_refused(head + png_chunk("ABCD", {1}) + tail, "unknown critical chunk ABCD");
}

TEST(Png, RefusesFilesCutAnywhere) {
  const Bytes file = png(make_picture(4, 4, 1, Bytes(16, 100)));
  for (size_t size = 8; size < file.size(); ++size) {
    expect_refused(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)), "truncated");
  }
  // Complete chunks, but rows are missing.
  expect_refused(png(spec_of(4, 4, 8, 0), Bytes(10, 0)),
                 "truncated: the data end before the last of 4x4 pixels");
}

TEST(Png, RefusesAFlippedBitByTheChecksum) {
  const Bytes file = png(make_picture(4, 4, 1, Bytes(16, 100)));
  for (size_t i = 8; i < file.size(); ++i) {
    Bytes flipped = file;
    flipped[i] ^= 0x10;
    EXPECT_THROW(decode_picture(flipped, "picture"), DataError) << i;
  }
  Bytes data = file;
  data[8 + 25 + 10] ^= 1;
  expect_refused(data, "the checksum of chunk IDAT");
}

TEST(Png, RefusesBadHeaders) {
  expect_refused(png(spec_of(0, 5, 8, 0), {}), "0x5 pixels");
  expect_refused(png(spec_of(0xffffffff, 0xffffffff, 8, 0), {}),
                 "4294967295x4294967295 pixels, expected at most");
  expect_refused(png(spec_of(8000, 8000, 8, 6), {}), "bytes to decode, expected at most");
  expect_refused(png(spec_of(1, 1, 3, 0), {}), "colour type 0 with 3 bits");
  expect_refused(png(spec_of(1, 1, 4, 2), {}), "colour type 2 with 4 bits");
  expect_refused(png(spec_of(1, 1, 8, 5), {}), "colour type 5 with 8 bits");
  expect_refused(png(spec_of(1, 1, 16, 3), {}), "colour type 3 with 16 bits");
  expect_refused(png(spec_of(1, 1, 8, 3), {0, 0}), "the palette is missing");
  PngSpec spec = spec_of(1, 1, 8, 3);
  spec.palette = Bytes(769, 0);
  expect_refused(png(spec, {0, 0}), "the palette has 769 bytes");
  spec.palette = Bytes(3, 0);
  spec.transparency = Bytes(2, 0);
  expect_refused(png(spec, {0, 0}), "transparency chunk of 2 bytes");
  expect_refused(png(spec_of(1, 1, 8, 0), {7, 0}), "damaged: invalid filter");
}

TEST(Png, StopsBombsEarly) {
  // Too much data for the picture when compressed; then too much after decompression, where the decoder stops at its
  // budget.
  const Bytes dense = png(spec_of(1, 1, 8, 0), Bytes(16 << 20, 0));
  const Bytes sparse = png(spec_of(100, 100, 8, 0), Bytes(8 << 20, 0));
  const double time = min_cpu_ms([&] {
    expect_refused(dense, "bytes of data for a picture that takes 2 uncompressed");
    expect_refused(sparse, "the data expand to more than the 100x100 pixels");
  });
  EXPECT_LT(time, 100 * kSlowdown);
}

TEST(Png, DecodesASmallPictureQuickly) {
  Bytes pixels(28 * 28);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37);
  const Bytes file = png(make_picture(28, 28, 1, pixels));
  EXPECT_LT(min_cpu_ms([&] { decode_picture(file, "picture"); }), 1.0 * kSlowdown);
}

}  // namespace
}  // namespace lenslet::test
