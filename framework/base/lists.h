// split() splits a text at a separator; listed() joins words as in a sentence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet {

/// The parts of `text` between the separators, empty ones too: one more than there are separators.
inline std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

/// "a", "a or b", "a, b or c" for the conjunction "or".
inline std::string listed(const std::vector<std::string>& words, const std::string& conjunction) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " " + conjunction + " ") + words[i];
  return text;
}

}  // namespace lenslet
