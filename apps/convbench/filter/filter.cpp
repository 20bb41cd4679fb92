#include "apps/convbench/filter/filter.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "apps/convbench/filter/rgb_values.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

// Far above any filter of pictures in use. They bound the memory and the time that a hostile file can take.
constexpr size_t kMaxSide = 31;
constexpr size_t kMaxFileBytes = 64 << 10;
constexpr double kMaxTap = 1e6;
// All integers up to this limit are exact in fp32.
constexpr double kMaxExact = 0x1p24;

struct Named {
  const char* name;
  float taps[9];
  double scale;
};
constexpr Named kNamed[] = {
    {"edge", {-1, -1, -1, -1, 8, -1, -1, -1, -1}, 1},
    {"blur", {1, 2, 1, 2, 4, 2, 1, 2, 1}, 1.0 / 16},
    {"sharpen", {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1},
};

/// One line of a filter file, parsed word by word.
class LineReader {
 public:
  LineReader(const std::string& origin, size_t line)
      : where_(concat(printable_excerpt(origin), ", line ", line)) {}

  [[noreturn]] void refuse(const std::string& what) const { throw DataError(concat(where_, ": ", what)); }

  /// Digits with an optional sign and decimal point; exponents, hexadecimal numbers and infinities are refused.
  double number(const std::string& word) const {
    const bool decimal = !word.empty() && word.find_first_not_of("+-.0123456789") == std::string::npos &&
                         word.find_last_of("+-") + 1 <= 1;
    double value = 0;
    const char* begin = word.data() + (decimal && word[0] == '+' ? 1 : 0);
    const char* end = word.data() + word.size();
    const auto parsed = decimal ? std::from_chars(begin, end, value, std::chars_format::fixed)
                                : std::from_chars_result{begin, std::errc::invalid_argument};
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      refuse(concat("expected a decimal number such as -1 or 0.25, found '", printable_excerpt(word), "'"));
    }
    if (!(std::fabs(value) <= kMaxTap)) {
      refuse(concat("expected a number from ", -kMaxTap, " to ", kMaxTap, ", found '",
                    printable_excerpt(word), "'"));
    }
    return value;
  }

  /// "0.0625" or "1/16".
  double fraction(const std::string& word) const {
    const size_t slash = word.find('/');
    if (slash == std::string::npos) return number(word);
    const double below = number(word.substr(slash + 1));
    if (below == 0) refuse(concat("'", printable_excerpt(word), "' divides by zero"));
    const double value = number(word.substr(0, slash)) / below;
    if (!std::isfinite(value))
      refuse(concat("'", printable_excerpt(word), "' is too large: expected at most 1.8e308"));
    return value;
  }

 private:
  std::string where_;
};

std::vector<std::string> words_of(const std::string& line) {
  constexpr const char* kBlanks = " \t\r";
  std::vector<std::string> words;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string::npos;) {
    const size_t end = line.find_first_of(kBlanks, at);
    words.push_back(line.substr(at, end == std::string::npos ? end : end - at));
    at = end == std::string::npos ? end : line.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace

bool Filter::exact_on_bytes() const {
  return std::all_of(taps.begin(), taps.end(), [](float tap) { return tap == std::nearbyint(tap); }) &&
         magnitude() * RgbValues::kMaxByte < kMaxExact;
}

double Filter::magnitude() const {
  double sum = 0;
  for (float tap : taps) sum += std::fabs(double{tap});
  return sum;
}

std::vector<float> Filter::bank() const {
  constexpr size_t kColours = RgbValues::kColours;
  std::vector<float> bank(kColours * kColours * taps.size(), 0.0f);
  for (size_t k = 0; k < kColours; ++k) {
    std::copy(taps.begin(), taps.end(),
              bank.begin() + static_cast<std::ptrdiff_t>((k * kColours + k) * taps.size()));
  }
  return bank;
}

Filter find_filter(const std::string& name) {
  for (const Named& named : kNamed) {
    if (name == named.name) {
      return {name, 3, 3, std::vector<float>(std::begin(named.taps), std::end(named.taps)), named.scale};
    }
  }
  return read_filter(name);
}

Filter read_filter(const std::string& path) {
  try {
    const std::vector<uint8_t> bytes = read_file(path, kMaxFileBytes);
    return parse_filter(std::string(bytes.begin(), bytes.end()), path);
  } catch (const DataError& error) {
    if (path.find_first_of("./") != std::string::npos) throw;
    throw DataError(concat("--filter takes edge, blur, sharpen or a file: ", error.what()));
  }
}

Filter parse_filter(const std::string& text, const std::string& origin) {
  Filter filter;
  filter.name = origin;
  filter.r = 0;
  bool scaled = false;
  size_t line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string content = text.substr(at, end - at);
    at = end + 1;
    const LineReader reader(origin, ++line);
    const std::vector<std::string> words = words_of(content.substr(0, content.find('#')));
    if (words.empty()) continue;
    if (words[0] == "scale") {
      if (words.size() != 2) reader.refuse("expected one number after 'scale', such as 0.0625 or 1/16");
      if (scaled) reader.refuse("found a second 'scale', expected one a file: remove a line");
      filter.scale = reader.fraction(words[1]);
      scaled = true;
      continue;
    }
    std::vector<float> row;
    row.reserve(words.size());
    for (const std::string& word : words) row.push_back(static_cast<float>(reader.number(word)));
    if (words.size() > kMaxSide || words.size() % 2 == 0) {
      reader.refuse(concat("expected 1, 3, 5, ... ", kMaxSide, " numbers in a row, found ", words.size()));
    }
    if (filter.r > 0 && words.size() != static_cast<size_t>(filter.s)) {
      reader.refuse(concat("expected ", filter.s, " numbers, as in the first row, found ", words.size()));
    }
    if (filter.r == static_cast<int>(kMaxSide))
      reader.refuse(concat("expected at most ", kMaxSide, " rows, found more: use a smaller filter"));
    filter.taps.insert(filter.taps.end(), row.begin(), row.end());
    filter.s = static_cast<int>(words.size());
    ++filter.r;
  }
  if (filter.r % 2 == 0) {
    throw DataError(concat(printable_excerpt(origin), ": expected 1, 3, 5, ... ", kMaxSide,
                           " rows of numbers, found ", filter.r));
  }
  return filter;
}

}  // namespace lenslet
