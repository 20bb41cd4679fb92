// Pictures in: PNG by stb_image, JPEG by libjpeg-turbo, BMP and PNM by readers of our own, all within stated
// bounds.
//
// Debian's stb_image is version 2.27: its JPEG decoder writes out of bounds, its PNM decoder reads past the
// heap, its BMP decoder shows uninitialised memory for a palette index beyond the palette and takes a
// truncated file for a black one. So only its PNG decoder is compiled, behind a check of the chunks and their
// checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// 8 bits a channel, interleaved: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA.
struct Image {
  int width = 0, height = 0, channels = 0;  // pixels, and values of each: 1 grey, 3 RGB
  std::vector<uint8_t> pixels;              // [height, width, channels]
  std::string format;                       // "PNG", "JPEG", …
};

/// What a picture may be and take; checked against its header before memory is taken.
struct ImageLimits {
  static constexpr int64_t kDefaultPixels = 1 << 26;  // 64 Mi
  static constexpr int64_t kMostPixels = 1 << 28;     // the PNG decoder counts bytes in an int
  int64_t max_pixels = kDefaultPixels;                // refused above, before anything is decoded
  size_t max_file_bytes = 64u << 20;                  // 64 MiB
  size_t max_decode_bytes = 92u << 20;  // memory while decoding: a 4000x3000 picture with alpha fits

  /// At most `pixels`, 1 to kMostPixels: any picture up to there, so file and memory may be as large as the least compact
  /// picture of that size needs, and no smaller than the defaults.
  static ImageLimits up_to(int64_t pixels);
};

/// The formats that decode_image reads, for messages and help: "PNG, JPEG, BMP and PNM (PBM, PGM, PPM)".
const char* image_formats();

/// Decodes a file's bytes. A JPEG larger than the decoding memory allows is decoded at 1/2, 1/4 or 1/8 of its
/// size, and turned as its Exif orientation says. Throws DataError naming `origin`: empty, truncated, too
/// large, or a format this build does not read (naming those it does).
Image decode_image(const std::vector<uint8_t>& bytes, const std::string& origin,
                   const ImageLimits& limits = {});
/// Reads ("-": standard input) and decodes.
Image read_image(const std::string& path, const ImageLimits& limits = {});

}  // namespace lenslet
