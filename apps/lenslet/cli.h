// The command line of `lenslet`.
#pragma once

#include "apps/common/command_line/command_line.h"

namespace lenslet {

/// The table of its commands and options.
CommandLine lenslet_command_line();

}  // namespace lenslet
