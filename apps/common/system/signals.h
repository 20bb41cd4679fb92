// SIGINT, SIGTERM and SIGHUP: after the first, the program finishes its iteration and writes its results; the second
// removes incomplete files and ends the program. The same signal again within 250 ms counts as one. SIGHUP stays
// ignored if it was ignored at the start (nohup).
#pragma once

#include <string>

namespace lenslet {

/// Installs the handlers. Call once, in main(). `program` begins the message at the second signal. Throws
/// UnavailableError if the system refuses them.
void install_signal_handlers(const std::string& program);
/// From `seconds` after now on, the program ends as if a signal had come.
void stop_after(double seconds);
/// Whether a signal came, or the time of stop_after() is over.
bool interrupted() noexcept;
/// Whether that time is over and no signal came.
bool out_of_time() noexcept;
/// The name of the first signal, such as "SIGINT"; empty if none came.
std::string interrupting_signal();
/// Throws InterruptedError when a signal came, or the time is over.
void throw_if_interrupted();

}  // namespace lenslet
