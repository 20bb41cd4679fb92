// A program's manual page, made from its command line.
#pragma once

#include <string>

#include "apps/common/cli_description.h"

namespace lenslet {

/// Section 1, in the man macros that groff and mandoc read.
std::string man_page(const ProgramDescription& program);

}  // namespace lenslet
