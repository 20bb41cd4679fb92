#include "framework/base/settings.h"

#include <cstdlib>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/parse_number.h"
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
  if (const std::optional<int> number = parse_number(text, min, max)) return number;
  throw UsageError(concat(variable, " must be ", meaning, " from ", min, " to ", max, ", found '",
                          printable_excerpt(text), "'"));
}

}  // namespace lenslet
