// Internal: whether the program was asked to stop, for readers of files: a read that waits, a text that takes long to parse.
#pragma once

namespace lenslet {

/// `stop` is called now and then while files are read; true ends the read. Without it reads go on. Call before threads
/// read.
void stop_reading_when(bool (*stop)());
/// Whether `stop` returns true.
bool reading_stopped();
/// Throws InterruptedError then.
void throw_if_reading_stopped();

}  // namespace lenslet
