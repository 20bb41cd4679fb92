// Internal to framework/io: one decoder per format. Each receives bytes that begin with its magic, compares sizes with
// the limits before it allocates, and throws DataError naming `origin` if it cannot read the file completely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/io/picture.h"

namespace lenslet {

Picture decode_png(const std::vector<uint8_t>& bytes, const std::string& origin, const PictureLimits& limits);
Picture decode_jpeg(const std::vector<uint8_t>& bytes, const std::string& origin,
                    const PictureLimits& limits);
Picture decode_bmp(const std::vector<uint8_t>& bytes, const std::string& origin, const PictureLimits& limits);
Picture decode_pnm(const std::vector<uint8_t>& bytes, const std::string& origin, const PictureLimits& limits);

/// Throws DataError unless width and height are at least 1, width * height <= limits.max_pixels, and decoding with
/// `bytes_per_pixel` stays within limits.max_decode_bytes.
void check_picture_size(uint64_t width, uint64_t height, double bytes_per_pixel, const std::string& origin,
                        const PictureLimits& limits);

}  // namespace lenslet
