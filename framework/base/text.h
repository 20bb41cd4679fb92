// Text: makes any bytes of a file's name or content safe to print, as valid UTF-8 on one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet {

/// Length of the valid UTF-8 sequence that starts at `pos`; 0 if there is none.
size_t utf8_sequence_length(std::string_view text, size_t pos) noexcept;

/// The code point of that sequence.
uint32_t decode_utf8(std::string_view text, size_t pos, size_t length) noexcept;

/// Whether the character of `length` bytes at `pos`, from utf8_sequence_length(), may be printed as it is. Refuses
/// terminal controls (C0, DEL, C1) and invisible characters that change how text reads (direction marks, zero-width and
/// other format characters, tags, line and paragraph separators).
bool is_visible(std::string_view text, size_t pos, size_t length) noexcept;

/// One printable line: characters that is_visible() refuses become \n, \t or \xNN; invalid UTF-8 becomes \xNN.
std::string printable(std::string_view text);
/// Like printable(), but keeps line ends.
std::string printable_lines(std::string_view text);
/// printable(), shortened: if the text has more than `max_bytes` bytes, "…" replaces its middle.
std::string printable_excerpt(std::string_view text, size_t max_bytes = 300);

/// Longest message in bytes, a few lines of a terminal.
inline constexpr size_t kMaxLineBytes = 2000;
/// A message as programs and libraries print it: printable(), shortened to kMaxLineBytes.
std::string printable_line(std::string_view text);

/// The words with `separator` between them.
std::string joined(const std::vector<std::string>& words, const std::string& separator);
/// Appends `clause` to a text, after "; " if the text has one already. An empty clause changes nothing.
void add_clause(std::string& text, const std::string& clause);
/// Appends to `words` those of `more` that it lacks.
void add_new(std::vector<std::string>& words, const std::vector<std::string>& more);
/// "direct, winograd"; "none" for no names.
std::string comma_list(const std::vector<std::string>& names);

/// ASCII letters in lower case; other bytes stay.
std::string lower_case(std::string_view text);
/// Whether `text` ends with `end`.
bool ends_with(std::string_view text, std::string_view end) noexcept;

/// "a/b/" of "a/b/c"; empty for a name without a slash.
std::string folder_of(const std::string& path);
/// The absolute name of an existing file, without links; `otherwise` if there is none. For the name of a file that may
/// not exist yet see resolved_path().
std::string real_path(const std::string& path, const std::string& otherwise = {});
/// The first line of a file, without its end; empty if the file cannot be read.
std::string first_line(const std::string& path);

}  // namespace lenslet
