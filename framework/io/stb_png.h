// Internal to framework/io: the one place that stb_image is compiled in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// Decodes a PNG whose chunks have been checked, with at most `budget` bytes of memory. Fills `pixels` with 8
/// bits a channel, `channels` of them, and returns an empty string, or stb_image's reason.
std::string stb_decode_png(const std::vector<uint8_t>& bytes, size_t budget, int& channels,
                           std::vector<uint8_t>& pixels);

}  // namespace lenslet
