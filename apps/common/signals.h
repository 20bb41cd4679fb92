// SIGINT and SIGTERM: the first asks the program to finish its iteration and write what it has, the second
// ends it.
#pragma once

namespace lenslet {

/// Installs the handlers. Call once, in main().
void install_signal_handlers();
/// Whether a signal came.
bool interrupted() noexcept;
/// Throws InterruptedError when a signal came.
void throw_if_interrupted();

}  // namespace lenslet
