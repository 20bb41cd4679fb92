// parse_number() converts a whole text to a number.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace lenslet {

/// The whole text as a number (std::from_chars); nullopt if it is none or lies outside of `min` to `max`.
template <typename Number>
std::optional<Number> parse_number(std::string_view text, Number min = std::numeric_limits<Number>::lowest(),
                                   Number max = std::numeric_limits<Number>::max()) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= min && number <= max) return number;
  return std::nullopt;
}

}  // namespace lenslet
