// What the reason of a refusal must have.
#pragma once

#include <regex>
#include <string>

namespace lenslet {

/// What the reason lacks: the value that was found or is needed, or a remedy; "" if it has both.
inline std::string lacks(const std::string& reason) {
  static const std::regex found(R"(\b(found|has|needs?|not|fuses)\b)"), remedy(": (use|choose|leave|make) ");
  if (!std::regex_search(reason, found)) return "a found or needed value: " + reason;
  return std::regex_search(reason, remedy) ? "" : "a remedy: " + reason;
}

}  // namespace lenslet
