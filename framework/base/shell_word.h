// Words for commands that a person copies, and for scripts that a shell reads.
#pragma once

#include <string>
#include <string_view>

namespace lenslet {

/// Text as one word of a shell's command line, in single quotes.
inline std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace lenslet
