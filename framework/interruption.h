// Internal: whether somebody asked the program to stop, for what reads files: a read that waits, a text that takes long.
#pragma once

namespace lenslet {

/// `stop` says whether to stop, and is asked now and then while files are read; without it reads go on. Call before threads
/// read.
void stop_reading_when(bool (*stop)());
/// Whether that says to stop.
bool reading_stopped();
/// Throws InterruptedError then.
void throw_if_reading_stopped();

}  // namespace lenslet
