// Pictures in: PNG, BMP, PGM/PPM and JPEG, decoded by stb_image and libjpeg-turbo within stated bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// 8 bits a channel, interleaved: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA.
struct Image {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;
  std::string format;  // "PNG", "JPEG", …
};

struct ImageLimits {
  int64_t max_pixels = 1 << 26;       // 64 Mi pixels
  size_t max_file_bytes = 64u << 20;  // 64 MiB
};

/// Decodes a file's bytes. Throws DataError naming `origin`: empty, truncated, too large, or a format this
/// build does not read (naming those it does).
Image decode_image(const std::vector<uint8_t>& bytes, const std::string& origin,
                   const ImageLimits& limits = {});
/// Reads ("-": standard input) and decodes.
Image read_image(const std::string& path, const ImageLimits& limits = {});

}  // namespace lenslet
