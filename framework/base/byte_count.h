// Byte counts in text: "512M". Internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace lenslet {

/// Parses digits with an optional K, M, G or T (powers of 1024). Returns no value for any other text, 0 or an overflow.
std::optional<size_t> parse_byte_count(std::string_view text) noexcept;

}  // namespace lenslet
