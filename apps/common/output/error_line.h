// Writes the line that reports an error, also when memory is exhausted.
#pragma once

#include <initializer_list>
#include <string_view>

namespace lenslet {

/// Writes the line "PROGRAM: error: WHAT" to standard error, `what` joined and as printable_line() gives it. Without
/// memory for that, bytes are not escaped and long text is cut: each byte outside printable ASCII becomes '?'. Ignores
/// errors of writing.
void write_error_line(std::string_view program, std::initializer_list<std::string_view> what) noexcept;

}  // namespace lenslet
