// SIGINT, SIGTERM and SIGHUP: the first makes the program finish its iteration and write what it has, the second ends
// it and removes incomplete files. The same signal again within 250 ms belongs to the first. SIGHUP stays ignored in a
// program that was started with it ignored (nohup).
#pragma once

#include <string>

namespace lenslet {

/// Installs the handlers. Call once, in main(). `program` begins the line that the second signal prints.
void install_signal_handlers(const std::string& program);
/// Whether a signal came.
bool interrupted() noexcept;
/// "SIGINT", or which other signal came first; empty where none did.
std::string interrupting_signal();
/// Throws InterruptedError when a signal came.
void throw_if_interrupted();

}  // namespace lenslet
