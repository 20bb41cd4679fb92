// Internal to framework/io: one decoder a format. Each gets a file's bytes that start with its magic, checks
// sizes against the limits before it allocates, and throws DataError naming `origin` for whatever it cannot
// read completely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/io/image.h"

namespace lenslet {

Image decode_png(const std::vector<uint8_t>& bytes, const std::string& origin, const ImageLimits& limits);
Image decode_jpeg(const std::vector<uint8_t>& bytes, const std::string& origin, const ImageLimits& limits);
Image decode_bmp(const std::vector<uint8_t>& bytes, const std::string& origin, const ImageLimits& limits);
Image decode_pnm(const std::vector<uint8_t>& bytes, const std::string& origin, const ImageLimits& limits);

/// Throws DataError unless 1 <= width, height and width * height <= limits.max_pixels, and decoding that
/// takes `bytes_per_pixel` stays within limits.max_decode_bytes.
void check_image_size(uint64_t width, uint64_t height, double bytes_per_pixel, const std::string& origin,
                      const ImageLimits& limits);

}  // namespace lenslet
