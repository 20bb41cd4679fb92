#include "apps/common/option_values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "apps/common/text.h"
#include "framework/error.h"

namespace lenslet {

int64_t parse_integer(const std::string& option, const std::string& text, int64_t min, int64_t max) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < min || value > max) {
    throw UsageError(
        concat(option, " expects a whole number from ", min, " to ", max, ", found '", printable(text), "'"));
  }
  return value;
}

double parse_number(const std::string& option, const std::string& text, double min, double max) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || stop != end || !(value >= min && value <= max)) {
    throw UsageError(
        concat(option, " expects a number from ", min, " to ", max, ", found '", printable(text), "'"));
  }
  return value;
}

size_t parse_bytes(const std::string& option, const std::string& text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  int shift = 0;
  if (end - stop == 1) {
    const std::string units = "KMGT";
    const size_t unit = units.find(*stop);
    shift = unit == std::string::npos ? -1 : 10 * (static_cast<int>(unit) + 1);
  } else if (stop != end) {
    shift = -1;
  }
  if (error != std::errc() || shift < 0 || value == 0 ||
      value > (std::numeric_limits<uint64_t>::max() >> shift)) {
    throw UsageError(concat(option,
                            " expects bytes such as 67108864, 64M or 2G (at least 1, below 16 EiB), found '",
                            printable(text), "'"));
  }
  return static_cast<size_t>(value << shift);
}

}  // namespace lenslet
