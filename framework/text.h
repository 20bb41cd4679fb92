// Text that is safe to print: valid UTF-8 on one line, whatever bytes a file's name or content holds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lenslet {

/// Length of the valid UTF-8 sequence that starts at `pos`; 0 where there is none.
size_t utf8_sequence_length(std::string_view text, size_t pos) noexcept;

/// Control characters as \n, \t or \xNN, bytes that are not UTF-8 as \xNN.
std::string printable(std::string_view text);

}  // namespace lenslet
