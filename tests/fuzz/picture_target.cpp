// Pictures (PNG, JPEG, BMP, PNM), and as PNG again.
#include "framework/io/picture.h"
#include "framework/io/png_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

namespace lenslet::fuzz {
namespace {

// Small, so that many inputs are tried per second. The malloc limit is just above it (tests/fuzz/run.py), so that a
// decoder that allocates before it checks the size is detected.
PictureLimits small_limits() {
  PictureLimits limits;
  limits.max_pixels = 1 << 14;
  limits.max_decode_bytes = 1 << 20;
  return limits;
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(picture) {
  Picture picture;
  const PictureLimits limits = small_limits();
  if (!accepts("picture", [&] { picture = decode_picture(Bytes(data, data + size), "picture", limits); }))
    return;
  check(picture.width >= 1 && picture.height >= 1, "at least one pixel");
  check(int64_t{picture.width} * picture.height <= limits.max_pixels, "no more pixels than allowed");
  check(picture.channels >= 1 && picture.channels <= 4, "1 to 4 channels");
  check(picture.pixels.size() == static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) *
                                     static_cast<size_t>(picture.channels),
        "as many values as the size has");
  const std::string png = encode_png(picture);
  const Picture again = decode_picture(Bytes(png.begin(), png.end()), "written", {});
  check(again.width == picture.width && again.height == picture.height &&
            again.channels == picture.channels && again.pixels == picture.pixels,
        "written as PNG and read again it is the same");
}

LENSLET_FUZZ_SEEDS(picture) {
  using test::bytes_of;
  using test::make_picture;
  using test::operator+;
  const auto drawn = [](int width, int height, int channels) {  // an upright bar with a soft edge
    Bytes pixels;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const bool ink =
            std::abs(2 * x - width) < width / 4 + y % 3 && y > height / 8 && y < height - height / 8;
        for (int c = 0; c < channels; ++c)
          pixels.push_back(static_cast<uint8_t>(channels % 2 == 0 && c == channels - 1 ? 255
                                                : ink                                  ? 20
                                                                                       : 240 - c));
      }
    }
    return make_picture(width, height, channels, pixels);
  };
  Picture dark = drawn(28, 28, 1);
  for (uint8_t& pixel : dark.pixels) pixel = pixel < 128 ? 255 : 0;
  test::PngSpec palette, interlaced, wide, bits;
  palette.width = palette.height = 8;
  palette.depth = 4;
  palette.colour = 3;
  palette.palette = Bytes(30, 77);
  palette.transparency = Bytes(5, 100);
  Bytes palette_rows;
  for (int y = 0; y < 8; ++y)
    palette_rows = palette_rows + Bytes{static_cast<uint8_t>(y % 5), 0x12, 0x34, 0x56, 0x78};
  interlaced.width = interlaced.height = 8;
  interlaced.interlaced = true;
  wide.width = 3;
  wide.height = 2;
  wide.depth = 16;
  wide.colour = 2;
  bits.width = 9;
  bits.height = 3;
  bits.depth = 1;
  const Bytes masks = {0x00, 0xf8, 0, 0, 0xe0, 0x07, 0, 0, 0x1f, 0, 0, 0};
  test::PngSpec bomb;
  bomb.width = bomb.height = 100'000;
  return {test::png(drawn(28, 28, 1)),
          test::png(dark),
          test::png(drawn(40, 60, 3)),
          test::png(drawn(33, 20, 4)),
          test::png(drawn(12, 12, 2)),
          test::png(palette, palette_rows),
          test::png(interlaced, Bytes(64 + 15, 0)),
          test::png(wide, Bytes(2 * 19, 1)),
          test::png(bits, Bytes(3 * 3, 0)),
          test::png(bomb, Bytes(1000, 0)),
          test::jpeg(drawn(24, 17, 3), 80),
          test::jpeg(drawn(30, 40, 1), 50, true),
          test::jpeg(drawn(9, 9, 4), 70),
          test::jpeg(drawn(16, 24, 1), 70, false, test::exif(6, true)),
          test::jpeg(drawn(16, 24, 3), 70, true, test::exif(3, false)),
          test::bmp(4, 3, 24, {}, Bytes(36, 5)),
          test::bmp(5, -5, 8, Bytes(64, 9), Bytes(40, 3)),
          test::bmp(9, 2, 1, Bytes(8, 9), Bytes(8, 0xa5)),
          test::bmp(5, 2, 4, Bytes(64, 9), Bytes(8, 0x12)),
          test::bmp(2, 2, 16, masks, Bytes(8, 7), 3),
          test::bmp(2, 2, 32, {}, Bytes(16, 7)),
          bytes_of("P1 4 2\n10101010"),
          bytes_of("P2 2 2 100\n0 50 # grey\n100 25\n"),
          bytes_of("P3 1 1 255 1 2 3\n"),
          bytes_of("P4 9 2\n") + Bytes(4, 7),
          bytes_of("P5 28 28 255\n") + drawn(28, 28, 1).pixels,
          bytes_of("P6 2 2 65535\n") + Bytes(24, 7),
          bytes_of("P5 99999999 99999999 255\n"),
          bytes_of("RIFF\x10  \x01WEBPVP8 "),
          bytes_of("<svg xmlns='http://www.w3.org/2000/svg'/>")};
}
