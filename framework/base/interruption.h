// Internal: ends long work early: a read that waits for input, a parser, the reference of a large problem.
#pragma once

namespace lenslet {

/// Sets the function for the whole process: null, the initial value, never stops. Any thread may call it at any time,
/// several at once; when it returns true, the work ends.
void stop_when(bool (*stop)()) noexcept;
/// Whether the function of stop_when() returns true.
bool stopped();
/// Throws InterruptedError "interrupted while `doing`" if stopped().
void throw_if_stopped(const char* doing);

}  // namespace lenslet
