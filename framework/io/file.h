// Whole files in, whole files out.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/error.h"

namespace lenslet {

/// Reads a regular file, or standard input for "-" (a pipe or a file, not a terminal). Throws DataError
/// naming the file: missing, unreadable, a directory, a FIFO or device (refused at once, never waited for),
/// or larger than `max_bytes`. A signal that interrupts the read ends it with InterruptedError once reading_stopped(),
/// so that Ctrl-C leaves a pipe without a writer.
std::vector<uint8_t> read_file(const std::string& path, size_t max_bytes);

/// The name of a file that must not stay behind half done. It is removed when this object ends, and by
/// remove_unfinished_files(), unless release() said that it was renamed.
class UnfinishedFile {
 public:
  /// Notes the name; creates nothing.
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  /// Forgets the name: the file was renamed.
  void release() noexcept;
  /// The name that was noted.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Removes what every UnfinishedFile names. For a signal handler that ends the process next: calls nothing but unlink().
void remove_unfinished_files() noexcept;

/// No signal handler runs in this thread while it exists: creating a file and noting its name are one step.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

/// The reader of standard output went away (`| head`): the program stops without a message.
class ClosedPipe : public OutputError {
 public:
  ClosedPipe() : OutputError("the reader of the output went away") {}
};

/// Writes all of it, waiting where a non-blocking descriptor takes no more. Returns 0 or errno.
int write_all(int descriptor, const char* data, size_t size) noexcept;

/// Whether OutputFile writes to what stands under `path` instead of replacing it: "-", /dev/stdout, /dev/fd/3, a device, a
/// FIFO, or the very file that standard output or standard error is redirected to.
bool is_stream(const std::string& path);
/// Whether that is standard output.
bool is_standard_output(const std::string& path);

/// Writes to a temporary name beside `path` and renames on commit(), so that an interrupted run leaves the
/// old file or none. A stream, as is_stream() tells, is written to directly. Every write and close is checked.
class OutputFile {
 public:
  /// Throws OutputError naming the file and the system's reason.
  explicit OutputFile(const std::string& path);
  /// Removes the temporary file when commit() was not reached.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Appends. Throws OutputError, ClosedPipe where the reader of standard output went away.
  void write(const std::string& text);
  /// Flushes, closes and renames. Throws as write() does.
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_, buffer_;
  std::optional<UnfinishedFile> temporary_;  // none where a stream is written to
  bool standard_output_ = false;
  int descriptor_ = -1;
};

}  // namespace lenslet
