// The command line of `convbench`.
#pragma once

#include "apps/common/command_line/command_line.h"

namespace lenslet {

/// The table of its commands and options.
CommandLine convbench_command_line();

}  // namespace lenslet
