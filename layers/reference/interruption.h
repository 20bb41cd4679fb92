// Ends the reference early, which takes long on large problems.
#pragma once

namespace lenslet::reference {

/// Asked between outputs and between blocks of data, by any thread, also by several at once; true ends the computation.
using Stop = bool (*)();

/// From now on, in the whole process. Null, as at the start: never asked.
void stop_when(Stop stop) noexcept;
/// Throws InterruptedError where stop_when()'s answers true.
void throw_if_stopped();

}  // namespace lenslet::reference
