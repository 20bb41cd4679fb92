#include "apps/common/command_line/option_values.h"

#include <algorithm>
#include <charconv>

#include "apps/common/output/text.h"
#include "framework/base/byte_count.h"
#include "framework/base/lists.h"
#include "framework/base/parse_number.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

[[noreturn]] void throw_unexpected(const std::string& option, const std::string& expected,
                                   const std::string& found) {
  throw UsageError(concat(option, " expects ", expected, ", found '", printable(found), "'"));
}

}  // namespace

int64_t Integer::parse(const std::string& option, const std::string& text) const {
  if (const std::optional<int64_t> value = parse_number<int64_t>(text); value && holds(*value)) return *value;
  throw_unexpected(option,
                   max == std::numeric_limits<int64_t>::max()
                       ? concat("a whole number of at least ", min, " and below 2^63")
                       : concat("a whole number from ", min, " to ", max),
                   text);
}

double Number::parse(const std::string& option, const std::string& text) const {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error == std::errc() && stop == end && holds(value)) return value;
  throw_unexpected(option, concat("a number from ", show(min), " to ", show(max)), text);
}

std::string Number::show(double value) const {
  constexpr size_t kMaxDigits = 400;  // digits of the largest and of the smallest double
  char digits[kMaxDigits];
  return std::string(digits, std::to_chars(digits, digits + kMaxDigits, value, std::chars_format::fixed).ptr);
}

size_t ByteCount::parse(const std::string& option, const std::string& text) const {
  if (const std::optional<size_t> bytes = parse_byte_count(text)) return *bytes;
  throw_unexpected(option, "bytes such as 67108864, 64M or 2G (at least 1, below 16 EiB)", text);
}

std::string Text::parse(const std::string& option, const std::string& text) const {
  if (!holds(text)) throw_unexpected(option, "a name ending in " + listed(endings, "or"), text);
  return text;
}

bool Text::holds(const std::string& value) const {
  return endings.empty() || (streams && is_stream(value)) ||
         std::any_of(endings.begin(), endings.end(),
                     [&](const std::string& ending) { return ends_with(value, ending); });
}

void throw_unknown_word(const std::string& option, const std::string& text,
                        const std::vector<std::string>& words) {
  throw_unexpected(option, joined(words, "|"), text);
}

std::vector<std::string> split_list(const std::string& option, const std::string& text) {
  std::vector<std::string> parts = split(text, ",");
  if (parts.size() > kMaxListed) throw UsageError(concat(option, " takes up to ", kMaxListed, " values"));
  for (const std::string& part : parts) {
    if (part.empty()) throw_unexpected(option, "values separated by single commas", text);
  }
  return parts;
}

std::vector<int64_t> Sizes::parse(const std::string& option, const std::string& text) const {
  const size_t first = text.find(':');
  if (first == std::string::npos) return List<Integer>::parse(option, text);
  const size_t second = text.find(':', first + 1);
  const std::string step = second == std::string::npos ? std::string() : text.substr(second + 1);
  if (step.size() < 2 || step[0] != 'x') {
    throw_unexpected(option, "sizes such as 256,512 or FROM:TO:xFACTOR such as 256:4096:x2", text);
  }
  const int64_t from = item.parse(option, text.substr(0, first));
  const int64_t to =
      Integer{from, item.max}.parse(concat(option, ": TO"), text.substr(first + 1, second - first - 1));
  const int64_t factor = Integer{2, item.max}.parse(concat(option, ": FACTOR"), step.substr(1));
  std::vector<int64_t> sizes;
  for (int64_t size = from; size <= to; size *= factor) sizes.push_back(size);
  return sizes;
}

}  // namespace lenslet
