// Reading and writing of whole files.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"

struct stat;

namespace lenslet {

/// Reads a regular file, or standard input for "-" (a pipe or a file, not a terminal). Throws DataError naming the file
/// if it is missing, unreadable, a directory, a FIFO or device (refused without waiting), or larger than `max_bytes`.
/// Throws InterruptedError if stopped() (framework/base/interruption.h), so that Ctrl-C ends a wait for a pipe.
std::vector<uint8_t> read_file(const std::string& path, size_t max_bytes);
/// Opens a regular file to read, and sets its status; the caller closes the descriptor. Throws like read_file().
int open_regular_file(const std::string& path, struct stat& status);
/// The number of a file's first bytes by which its type is recognised.
inline constexpr size_t kHeadBytes = 4;
/// Like read_file() above, with a limit that depends on the type of the file. Before the rest is read, max_bytes(head)
/// gets the first kHeadBytes bytes, or fewer if the file is shorter; none for standard input.
std::vector<uint8_t> read_file(const std::string& path,
                               const std::function<size_t(const std::vector<uint8_t>& head)>& max_bytes);

/// The name of an incomplete file. The destructor and remove_unfinished_files() remove the file, unless release() was
/// called.
class UnfinishedFile {
 public:
  /// Stores the name; creates no file.
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  /// Call it when the file is complete and renamed.
  void release() noexcept;
  /// The stored name.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Removes the file of every UnfinishedFile. For a signal handler that then ends the process: it calls only unlink().
void remove_unfinished_files() noexcept;

/// Blocks signals in this thread while it exists, so that creating a file and storing its name is atomic for handlers.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

/// The reader of standard output closed it (`| head`). The program stops without a message.
class ClosedPipe : public OutputError {
 public:
  ClosedPipe() : OutputError("the reader of standard output closed it") {}
};

/// The file that OutputFile(path) creates or replaces. Follows every link, also to a target that does not exist yet; if
/// its folder does not exist, only links in the last component. Empty, with errno set, for a loop of links.
std::string resolved_path(const std::string& path);

/// How messages name a file that is read: its printable path; for "-" standard input.
std::string name_in_errors(const std::string& path);

/// Writes all bytes and waits if a non-blocking descriptor is full. Returns 0 or errno.
int write_all(int descriptor, const char* data, size_t size) noexcept;

/// Whether OutputFile writes to `path` instead of replacing it: "-", /dev/stdout, /dev/fd/3, a device, a FIFO, or the
/// file that standard output or standard error is redirected to.
bool is_stream(const std::string& path);
/// Whether `path` is standard output.
bool is_standard_output(const std::string& path);

/// Writes to a temporary file beside `path` and renames it on commit(), so that an interrupted run leaves the old file
/// or none. Writes directly if is_stream(path). Checks every write and close.
class OutputFile {
 public:
  /// Throws OutputError with the file and the system's reason.
  explicit OutputFile(const std::string& path);
  /// Removes the temporary file if commit() was not called.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Appends. Throws OutputError; ClosedPipe if the reader of standard output closed it.
  void write(const std::string& text);
  /// Flushes, closes and renames. Throws like write().
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, buffer_;       // target_: resolved_path(path_)
  std::optional<UnfinishedFile> temporary_;  // none for a stream
  bool standard_output_ = false;
  int descriptor_ = -1;
};

}  // namespace lenslet
