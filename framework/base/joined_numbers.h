// joined_numbers: whole numbers as one text, such as the dimensions of an array.
#pragma once

#include <string>

namespace lenslet {

/// "3x28x28" for the separator "x"; empty for no numbers.
template <typename Numbers>
std::string joined_numbers(const Numbers& numbers, const char* separator) {
  std::string text;
  for (const auto number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

}  // namespace lenslet
