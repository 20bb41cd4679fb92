// Ends the reference early, which takes long on large problems.
#pragma once

namespace lenslet::reference {

/// Asked between outputs and between blocks of data, by any thread, also by several at once; true ends the computation.
using Stop = bool (*)();

/// Sets the question for the whole process. Null, the initial value: never stop.
void stop_when(Stop stop) noexcept;
/// Throws InterruptedError if the function of stop_when() returns true.
void throw_if_stopped();

}  // namespace lenslet::reference
