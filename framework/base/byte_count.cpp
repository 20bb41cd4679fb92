#include "framework/base/byte_count.h"

#include <charconv>
#include <cstdint>
#include <limits>

namespace lenslet {

std::optional<size_t> parse_byte_count(std::string_view text) noexcept {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  int shift = 0;
  if (end - stop == 1) {
    const size_t unit = std::string_view("KMGT").find(*stop);
    if (unit == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<int>(unit) + 1);
  } else if (stop != end) {
    return std::nullopt;
  }
  if (error != std::errc() || value == 0 || value > (std::numeric_limits<uint64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return static_cast<size_t>(value << shift);
}

}  // namespace lenslet
