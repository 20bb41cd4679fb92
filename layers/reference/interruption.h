// Ends the reference early, because large problems take long.
#pragma once

namespace lenslet::reference {

/// Called between outputs and blocks of data, by any thread and concurrently; returning true ends the computation.
using Stop = bool (*)();

/// Sets the function for the whole process. Null, the initial value, means never stop.
void stop_when(Stop stop) noexcept;
/// Throws InterruptedError if the function of stop_when() returns true.
void throw_if_stopped();

}  // namespace lenslet::reference
