// Counts of bytes as people write them. Internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace lenslet {

/// Digits with K, M, G or T for powers of 1024; nothing for another text, 0 or an overflow.
std::optional<size_t> parse_byte_count(std::string_view text) noexcept;

}  // namespace lenslet
