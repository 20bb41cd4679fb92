// Encodings that a page needs: bytes as text, and the hash by which a browser accepts its script.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lenslet {

/// RFC 4648, section 4, with padding.
std::string base64(const void* bytes, size_t count);

/// FIPS 180-4.
std::array<uint8_t, 32> sha256(std::string_view text);

}  // namespace lenslet
