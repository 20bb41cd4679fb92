// The command line of `lenslet`.
#pragma once

#include <functional>

#include "framework/error.h"

namespace lenslet {

/// Reads the arguments and returns the subcommand ready to run, or one that prints the help or version asked
/// for. Throws UsageError.
std::function<ExitCode()> parse_command_line(int argc, const char* const* argv);

}  // namespace lenslet
