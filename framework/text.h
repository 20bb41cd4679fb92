// Text: how it ends, and what is safe to print of it, valid UTF-8 on one line, whatever bytes a file's name or content holds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lenslet {

/// Length of the valid UTF-8 sequence that starts at `pos`; 0 where there is none.
size_t utf8_sequence_length(std::string_view text, size_t pos) noexcept;

/// Control characters as \n, \t or \xNN, bytes that are not UTF-8 as \xNN.
std::string printable(std::string_view text);
/// printable() of a text that may be long: of more than `most` bytes the middle becomes "…", so that a message stays a line.
std::string printable_excerpt(std::string_view text, size_t most = 300);

/// Whether `text` ends with `end`.
bool ends_with(std::string_view text, std::string_view end) noexcept;

}  // namespace lenslet
