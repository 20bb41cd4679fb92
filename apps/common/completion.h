// Completion scripts for shells, made from a program's command line.
#pragma once

#include <string>

#include "apps/common/cli_description.h"

namespace lenslet {

/// A script for bash 4.3 or later, to be sourced or put where bash-completion looks. It needs nothing beside bash.
std::string bash_completion(const ProgramDescription& program);
/// A script for zsh, to be put into a folder of $fpath as _<program>, or sourced after compinit.
std::string zsh_completion(const ProgramDescription& program);

}  // namespace lenslet
