// Recognised and refused formats, and our own readers: PNM and BMP.

#include "framework/io/picture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "framework/base/error.h"
#include "tests/io/crafted_files.h"
#include "tests/io/expect_picture.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

TEST(Picture, NamesTheFormatAndThoseItReads) {
  const Bytes rest(100, 0);
  const auto file = [&](const char* magic, size_t length) { return Bytes(magic, magic + length) + rest; };
  // NOLINTBEGIN(bugprone-string-literal-with-embedded-nul): the length stands beside each literal
  expect_refused(file("RIFF\x10\0\0\0WEBPVP8 ", 16),
                 "expected a PNG, JPEG, BMP or PNM picture, found a WebP file; convert it "
                 "with ImageMagick: convert in.webp out.png");
  expect_refused(file("GIF89a", 6),
                 "found a GIF file; convert it with ImageMagick: convert 'in.gif[0]' out.png");
  expect_refused(file("\0\0\0\x18"
                      "ftypheic",
                      12),
                 "found a HEIC file; convert it with ImageMagick: convert in.heic out.png");
  expect_refused(file("\0\0\0\x18"
                      "ftypavif",
                      12),
                 "found an AVIF file");
  expect_refused(file("II*\0", 4),
                 "found a TIFF file; convert it with ImageMagick: convert 'in.tif[0]' out.png");
  for (const char* tiff : {"MM\0*", "II+\0", "MM\0+"})
    expect_refused(file(tiff, 4), "found a TIFF file; convert it");
  expect_refused(file("%PDF-1.7", 8), "found a PDF file");
  expect_refused(file("\0\0\x08\x03", 4), "found an IDX file");
  // NOLINTEND(bugprone-string-literal-with-embedded-nul)
  expect_refused(bytes_of("P7\nWIDTH 1\n"), "found a PAM file");
  expect_refused(bytes_of("this is no picture at all\n"), "found text");
  expect_refused(bytes_of("BMW is a maker of cars.\n"), "found text");
  expect_refused(bytes_of("Pictures\n"), "found text");
  expect_refused(bytes_of("<svg xmlns='http://www.w3.org/2000/svg'/>"), "found an SVG drawing");
  expect_refused(bytes_of("<!DOCTYPE html>"), "found an HTML or XML page");
  expect_refused(bytes_of("version https://git-lfs.github.com/spec/v1\n"), "found a Git LFS pointer file");
  expect_refused(gzip(rest), "found a gzip file");
  expect_refused(Bytes{1, 2, 3}, "found an unknown format");
  expect_refused({}, "the file is empty");
}

TEST(Picture, NamesTheFileToConvert) {
  const Bytes webp = bytes_of("RIFF....WEBPVP8 "), gif = bytes_of("GIF89a");
  const auto command = [](const Bytes& file, const std::string& path) {
    const std::string text = message_of<DataError>([&] { decode_picture(file, "x", {}, path); });
    return text.substr(text.find(": convert ") + 2);
  };
  EXPECT_EQ(command(webp, ""), "convert in.webp out.png");
  EXPECT_EQ(command(webp, "photos/a_1.webp"), "convert photos/a_1.webp out.png");
  EXPECT_EQ(command(webp, "it's mine"), "convert 'it'\\''s mine' out.png");
  EXPECT_EQ(command(webp, "-a.webp"), "convert ./-a.webp out.png");
  EXPECT_EQ(command(gif, "b.gif"), "convert 'b.gif[0]' out.png");
}

TEST(Picture, RefusesFilesOverTheLimit) {
  PictureLimits limits;
  limits.max_file_bytes = 10;
  expect_error<DataError>([&] { decode_picture(Bytes(11, 0), "picture", limits); },
                          "11 bytes, expected at most 10");
}

// With a stated limit any picture up to that size is read, whatever its file size and memory, and none beyond.
TEST(Picture, ReadsUpToAStatedNumberOfPixels) {
  const PictureLimits few = PictureLimits::up_to(12, "--pixels");
  EXPECT_EQ(few.max_pixels, 12);
  EXPECT_EQ(few.max_decode_bytes, PictureLimits{}.max_decode_bytes);
  EXPECT_EQ(
      decode_picture(bytes_of("P2 4 3 1 ") + bytes_of("0 0 0 0 0 0 0 0 0 0 0 0"), "picture", few).height, 3);
  expect_error<DataError>([&] { decode_picture(bytes_of("P2 13 1 1 0"), "picture", few); },
                          "13x1 pixels, expected at most 12; scale it down, or raise the limit "
                          "(--pixels)");
  EXPECT_EQ(PictureLimits::up_to(INT64_MAX).max_pixels, PictureLimits::kMaxPixels);
  EXPECT_EQ(PictureLimits::up_to(-1).max_pixels, 1);

  // 16-bit RGBA takes 24 bytes per pixel to decode, 120 MB: above the default limit, within the limit for 5 million
  // pixels.
  PngSpec spec;
  spec.width = 2500;
  spec.height = 2000;
  spec.depth = 16;
  spec.colour = 6;
  const Bytes wide = png(spec, Bytes(size_t{2000} * (1 + 2500 * 8), 0));
  expect_error<DataError>([&] { decode_picture(wide, "picture"); },
                          "bytes to decode, expected at most 96468992");
  const Picture picture = decode_picture(wide, "picture", PictureLimits::up_to(5'000'000));
  EXPECT_EQ(picture.width * picture.height * picture.channels, 20'000'000);
}

// Headers that state large sizes in files of a few bytes: refused by the header, quickly.
TEST(Picture, RefusesBombsByTheirHeader) {
  PngSpec spec;
  spec.width = spec.height = 60'000;
  Bytes jpeg_bomb = jpeg(make_picture(8, 8, 1, Bytes(64, 0)), 80);
  for (size_t i = 0; i + 8 < jpeg_bomb.size(); ++i) {
    if (jpeg_bomb[i] != 0xff || jpeg_bomb[i + 1] != 0xc0) continue;
    std::fill(jpeg_bomb.begin() + static_cast<std::ptrdiff_t>(i) + 5,
              jpeg_bomb.begin() + static_cast<std::ptrdiff_t>(i) + 9, 0xff);
    break;
  }
  for (const Bytes& bomb : {png(spec, Bytes(1000, 0)), jpeg_bomb, bmp(60'000, 60'000, 24, {}, Bytes(100, 0)),
                            bytes_of("P5 4294967295 1 255\n"), bytes_of("P6 60000 60000 255\n"),
                            bytes_of("P4 1073741824 1073741824\n")})
    EXPECT_LT(min_cpu_ms([&] { EXPECT_THROW(decode_picture(bomb, "picture"), DataError); }), 100 * kSlowdown);
}

TEST(Pnm, ReadsAllSixKinds) {
  expect_picture(bytes_of("P1\n# a comment\n3 2\n1 0 1\n010"), 3, 2, 1, {0, 255, 0, 255, 0, 255});
  expect_picture(bytes_of("P2 2 2 100\n0 50\n100 # comment\n 25"), 2, 2, 1, {0, 128, 255, 64});
  expect_picture(bytes_of("P3 1 2 255 1 2 3 4 5 6"), 1, 2, 3, {1, 2, 3, 4, 5, 6});
  expect_picture(bytes_of("P4 10 2\n") + Bytes{0xff, 0x80, 0x00, 0x40}, 10, 2, 1,
                 {0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0});
  expect_picture(bytes_of("P5\n2 2\n255\n") + Bytes{9, 8, 7, 6}, 2, 2, 1, {9, 8, 7, 6});
  expect_picture(bytes_of("P6\n1 1\n255\n") + Bytes{9, 8, 7}, 1, 1, 3, {9, 8, 7});
  expect_picture(bytes_of("P5 2 1 65535\n") + Bytes{0xff, 0xff, 0x80, 0x00}, 2, 1, 1, {255, 128});
  expect_picture(bytes_of("P5 2 1 15\n") + Bytes{15, 200}, 2, 1, 1,
                 {255, 255});  // a sample above the largest
  EXPECT_EQ(decode_picture(bytes_of("P2 1 1 255 7"), "picture").format, "PGM");
}

TEST(Pnm, ReadsExtremeShapes) {
  EXPECT_EQ(decode_picture(bytes_of("P5 5000 3 255\n") + Bytes(15000, 1), "picture").width, 5000);
  EXPECT_EQ(decode_picture(bytes_of("P5 3 5000 255\n") + Bytes(15000, 1), "picture").height, 5000);
}

TEST(Pnm, RefusesBadHeadersBeforeDecoding) {
  expect_refused(bytes_of("P5"), "found text");
  expect_refused(bytes_of("P5\n"), "truncated in the width");
  expect_refused(bytes_of("P5\n28 28\n"), "truncated in the largest sample");
  expect_refused(bytes_of("P5\n0 0\n255\n"), "0x0 pixels, expected at least 1x1");
  expect_refused(bytes_of("P5\n-3 5\n255\n"), "expected the width as a decimal number, found '-' at byte 3");
  expect_refused(bytes_of("P5\n99999999999999999999 5\n255\n"), "the width is above");
  expect_refused(bytes_of("P5\n1000000000 1000000000\n255\nabc"),
                 "1000000000x1000000000 pixels, expected at most 67108864");
  expect_refused(bytes_of("P6\n8000 8000\n255\nabc"), "bytes to decode, expected at most");
  expect_refused(bytes_of("P5\n2 2\n0\nabcd"), "the largest sample is 0");
  expect_refused(bytes_of("P5\n2 2\n65536\nabcd"), "the largest sample is above 65535");
  expect_refused(bytes_of("P5\n2 2\n255\nabc"), "truncated: 3 of 4 bytes of pixels");
  expect_refused(bytes_of("P5\n2 2\n65535\nabcd"), "truncated: 4 of 8 bytes of pixels");
  expect_refused(bytes_of("P2\n2 2\n255\n1 2 3"), "truncated in the pixels");
  expect_refused(bytes_of("P2\n2000 2000\n255\n1 2 3"), "bytes for 4000000 samples");
  expect_refused(bytes_of("P1\n2 1\n1 2"), "expected 0 or 1, found '2' at byte 9");
  expect_refused(bytes_of("P4\n9 9\n") + Bytes(17, 0), "truncated: 17 of 18 bytes");
}

TEST(Bmp, ReadsPalettes) {
  const Bytes palette = {0, 0, 255, 0, 0, 255, 0, 0};  // red, green; stored as blue, green, red, unused
  expect_picture(bmp(2, 2, 8, palette, {0, 1, 0, 0, 1, 1, 0, 0}), 2, 2, 3,
                 {0, 255, 0, 0, 255, 0, 255, 0, 0, 0, 255, 0});
  expect_picture(bmp(3, 1, 1, palette, {0x40, 0, 0, 0}), 3, 1, 3, {255, 0, 0, 0, 255, 0, 255, 0, 0});
  expect_picture(bmp(3, -1, 4, palette, {0x10, 0x10, 0, 0}), 3, 1, 3, {0, 255, 0, 255, 0, 0, 0, 255, 0});
}

TEST(Bmp, ReadsTrueColourEitherWayUp) {
  const Bytes rows = {1, 2, 3, 0, 4, 5, 6, 0};
  expect_picture(bmp(1, 2, 24, {}, rows), 1, 2, 3, {6, 5, 4, 3, 2, 1});
  expect_picture(bmp(1, -2, 24, {}, rows), 1, 2, 3, {3, 2, 1, 6, 5, 4});
  expect_picture(bmp(1, 1, 32, {}, {1, 2, 3, 4}), 1, 1, 3, {3, 2, 1});
  expect_picture(bmp(2, 1, 16, {}, {0x00, 0x7c, 0x1f, 0x00}), 2, 1, 3, {255, 0, 0, 0, 0, 255});
  const Bytes masks = {0x00, 0xf8, 0, 0, 0xe0, 0x07, 0, 0, 0x1f, 0, 0, 0};  // 5, 6, 5 bits
  expect_picture(bmp(1, 1, 16, masks, {0xe0, 0x07, 0, 0}, 3), 1, 1, 3, {0, 255, 0});
}

TEST(Bmp, RefusesWhatItCannotRead) {
  const Bytes rows = {1, 2, 3, 0};
  Bytes good = bmp(1, 1, 24, {}, rows);
  for (size_t size = 2; size < good.size(); ++size) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(decode_picture(cut, "picture"), DataError) << size;
  }
  expect_refused(Bytes(good.begin(), good.end() - 1), "truncated: 3 of 4 bytes of pixels");
  expect_refused(bmp(1, 1, 8, {0, 0, 0, 0}, rows, 1), "unsupported compression RLE8 (1)");
  expect_refused(bmp(1, 1, 24, {}, rows, 4), "unsupported compression JPEG (4)");
  expect_refused(bmp(0, 1, 24, {}, rows), "0x1 pixels");
  expect_refused(bmp(-5, 1, 24, {}, rows), "width -5");
  expect_refused(bmp(1, INT32_MIN, 24, {}, rows), "1x2147483648 pixels, expected at most");
  expect_refused(bmp(1, 1, 7, {}, rows), "7 bits a pixel");
  expect_refused(bmp(4, 1, 8, {0, 0, 0, 0, 9, 9, 9, 0}, {0, 1, 2, 0}),
                 "palette index 2 in row 0, the palette has 2 colours");
  expect_refused(bmp(1, 1, 16, Bytes(12, 0), rows, 3), "expected bit fields for red, green or blue");
  good[14] = 41;
  expect_refused(good, "header of 41 bytes");
  Bytes inside = bmp(1, 1, 24, {}, rows);
  inside[10] = 20;
  expect_refused(inside, "pixels begin at byte 20, expected at least 54");
}

}  // namespace
}  // namespace lenslet::test
