// The command line of convbench.
#pragma once

#include <functional>

#include "framework/error.h"

namespace lenslet {

/// What to run. Throws UsageError.
std::function<ExitCode()> parse_convbench_line(int argc, const char* const* argv);

}  // namespace lenslet
