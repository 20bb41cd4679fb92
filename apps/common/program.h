// What main() of every program does: standard streams, signals, errors to exit codes.
#pragma once

#include <functional>
#include <string>

#include "framework/error.h"

namespace lenslet {

/// Parses and runs; a message on standard error and the documented exit code for every error. `memory_hint` ends the
/// message for memory that ran out: "try a smaller --batch-size".
int run_program(const std::string& name, const std::string& memory_hint, int argc, char** argv,
                const std::function<std::function<ExitCode()>(int, const char* const*)>& parse) noexcept;

}  // namespace lenslet
