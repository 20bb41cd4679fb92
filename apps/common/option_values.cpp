#include "apps/common/option_values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "apps/common/command_line.h"
#include "apps/common/text.h"
#include "framework/byte_count.h"
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

std::vector<int64_t> parse_integers(const std::string& option, const std::string& text, int64_t min,
                                    int64_t max) {
  constexpr size_t kMaxValues = 1000;  // every list is kept short enough to be meant
  std::vector<int64_t> values;
  for (const std::string& part : split_list(option, text)) {
    values.push_back(parse_integer(option, part, min, max));
    if (values.size() > kMaxValues) throw UsageError(concat(option, " takes up to ", kMaxValues, " values"));
  }
  return values;
}

std::vector<int64_t> parse_sizes(const std::string& option, const std::string& text, int64_t max) {
  const size_t first = text.find(':');
  if (first == std::string::npos) return parse_integers(option, text, 1, max);
  const size_t second = text.find(':', first + 1);
  const std::string step = second == std::string::npos ? std::string() : text.substr(second + 1);
  if (step.size() < 2 || step[0] != 'x') {
    throw UsageError(concat(option,
                            " expects sizes such as 256,512 or FROM:TO:xFACTOR such as 256:4096:x2, found '",
                            printable(text), "'"));
  }
  const int64_t from = parse_integer(option, text.substr(0, first), 1, max);
  const int64_t to = parse_integer(option, text.substr(first + 1, second - first - 1), from, max);
  const int64_t factor = parse_integer(option, step.substr(1), 2, max);
  std::vector<int64_t> sizes;
  for (int64_t size = from; size <= to; size *= factor) sizes.push_back(size);
  return sizes;
}

size_t parse_bytes(const std::string& option, const std::string& text) {
  if (const std::optional<size_t> bytes = parse_byte_count(text)) return *bytes;
  throw UsageError(concat(option,
                          " expects bytes such as 67108864, 64M or 2G (at least 1, below 16 EiB), found '",
                          printable(text), "'"));
}

}  // namespace lenslet
