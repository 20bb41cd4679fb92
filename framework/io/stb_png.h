// Internal to framework/io: the only file that compiles stb_image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// Decodes a PNG whose chunks have been checked, with at most `budget` bytes of memory. Sets `channels` and `pixels`, 8
/// bits per channel. Returns an empty string, or stb_image's reason for a failure.
std::string stb_decode_png(const std::vector<uint8_t>& bytes, size_t budget, int& channels,
                           std::vector<uint8_t>& pixels);

}  // namespace lenslet
