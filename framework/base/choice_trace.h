// The trace of choices: with LENSLET_TRACE=1 every choice is printed to stderr, one line each, in programs as in C and
// Python hosts (docs/environment.md, "The trace"). Without it a call costs its arguments and one branch: choices are
// made while building, never in a pass.
#pragma once

#include "framework/base/error.h"

namespace lenslet {

/// Whether LENSLET_TRACE is 1; read once per process. Throws UsageError unless it is 0, 1 or not set.
bool traces_choices();

/// Internal: writes "lenslet trace: KIND: CHOICE" to stderr with one system call, so that threads do not mix their
/// lines.
void print_choice(const char* kind, const std::string& choice) noexcept;

/// Prints a choice where traces_choices() holds. `kind` is what is chosen: device, plan, backend, tensor, library,
/// algorithm, threads.
template <typename... Parts>
void trace_choice(const char* kind, const Parts&... parts) {
  if (traces_choices()) print_choice(kind, concat(parts...));
}

}  // namespace lenslet
