// Internal: interruption of file readers, which may wait for input or parse for a long time.
#pragma once

namespace lenslet {

/// Readers call `stop` from time to time; a read ends when it returns true. Default: reads never stop. Call this before
/// any thread reads.
void stop_reading_when(bool (*stop)());
/// Whether `stop` returns true.
bool reading_stopped();
/// Throws InterruptedError if `stop` returns true.
void throw_if_reading_stopped();

}  // namespace lenslet
