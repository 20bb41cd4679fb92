// SIGINT, SIGTERM and SIGHUP: after the first, the program finishes its iteration and writes its results; the second
// removes incomplete files and ends the program. The same signal again within 250 ms counts as one. SIGHUP stays
// ignored if it was ignored at the start (nohup).
#pragma once

#include <string>

namespace lenslet {

/// Installs the handlers. Call once, in main(). `program` begins the message at the second signal.
void install_signal_handlers(const std::string& program);
/// Whether a signal came.
bool interrupted() noexcept;
/// The name of the first signal, such as "SIGINT"; empty if none came.
std::string interrupting_signal();
/// Throws InterruptedError when a signal came.
void throw_if_interrupted();

}  // namespace lenslet
