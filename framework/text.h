// Text: how it ends, and what is safe to print of it, valid UTF-8 on one line, whatever bytes a file's name or content holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lenslet {

/// Length of the valid UTF-8 sequence that starts at `pos`; 0 where there is none.
size_t utf8_sequence_length(std::string_view text, size_t pos) noexcept;

/// The code point of that sequence.
uint32_t decode_utf8(std::string_view text, size_t pos, size_t length) noexcept;

/// Whether the character of `length` bytes (as utf8_sequence_length() found it) at `pos` may be shown as it is: it neither
/// steers a terminal (C0, DEL, C1) nor changes unseen how the text around it is read (marks of direction, zero-width and
/// other format characters, tags, line and paragraph separators).
bool is_visible(std::string_view text, size_t pos, size_t length) noexcept;

/// One line that can be shown: what is_visible() refuses as \n, \t or the \xNN of its bytes, bytes that are not UTF-8 as \xNN.
std::string printable(std::string_view text);
/// printable(), but for the ends of lines, which stay: text of several lines.
std::string printable_lines(std::string_view text);
/// printable() of a text that may be long: of more than `most` bytes the middle becomes "…", so that a message stays a line.
std::string printable_excerpt(std::string_view text, size_t most = 300);

/// Longest message, in bytes: a few lines of a terminal.
inline constexpr size_t kMaxLineBytes = 2000;
/// A message as every way out of the library shows it: printable(), and of more than kMaxLineBytes the middle becomes "…".
std::string printable_line(std::string_view text);

/// Whether `text` ends with `end`.
bool ends_with(std::string_view text, std::string_view end) noexcept;

}  // namespace lenslet
