// The line that reports an error, whole also where there is no memory.
#pragma once

#include <initializer_list>
#include <string_view>

namespace lenslet {

/// Writes the line "PROGRAM: error: WHAT" to standard error, `what` joined and as printable_line() gives it. Without
/// memory for that, no byte is escaped and what is long is cut: each byte outside printable ASCII becomes '?'. Ignores
/// errors of writing.
void write_error_line(std::string_view program, std::initializer_list<std::string_view> what) noexcept;

}  // namespace lenslet
