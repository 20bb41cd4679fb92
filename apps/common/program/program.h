// The main() of both programs: standard streams, signals, errors to exit codes.
#pragma once

#include <functional>
#include <string>

#include "framework/base/error.h"

namespace lenslet {

/// Returns the command to run, or throws UsageError.
using Parse = std::function<std::function<ExitCode()>(int, const char* const*)>;

/// Parses and runs. Every error becomes a message on standard error and the documented exit code. `memory_hint` ends
/// the message of an out-of-memory error: "try a smaller --batch-size".
int program_main(const std::string& name, const std::string& memory_hint, int argc, char** argv,
                 const Parse& parse) noexcept;

}  // namespace lenslet
