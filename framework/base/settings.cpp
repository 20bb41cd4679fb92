#include "framework/base/settings.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {

bool switch_setting(const char* variable) {
  const char* const text = std::getenv(variable);
  const std::string_view value(text == nullptr ? "0" : text);
  if (value == "0" || value == "1") return value == "1";
  throw UsageError(concat(variable, " must be 0 or 1, found '", printable_excerpt(value), "'"));
}

std::optional<int> number_setting(const char* variable, const char* meaning, int min, int max) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  int number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && stop == digits.data() + digits.size() && number >= min && number <= max)
    return number;
  throw UsageError(concat(variable, " must be ", meaning, " from ", min, " to ", max, ", found '",
                          printable_excerpt(digits), "'"));
}

}  // namespace lenslet
