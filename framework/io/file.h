// Whole files in, whole files out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// A file's name for messages: printable() (framework/text.h), the middle of a very long name becomes "…".
std::string printable_name(const std::string& name);

/// Reads a regular file, or standard input for "-" (a pipe or a file, not a terminal). Throws DataError
/// naming the file: missing, unreadable, a directory, a FIFO or device (refused at once, never waited for),
/// or larger than `max_bytes`.
std::vector<uint8_t> read_file(const std::string& path, size_t max_bytes);

/// Writes to a temporary name beside `path` and renames on commit(), so that an interrupted run leaves the
/// old file or none; "-" is standard output. A device or FIFO that exists is written to directly. Every write
/// and close is checked.
class OutputFile {
 public:
  /// Throws OutputError naming the file and the system's reason.
  explicit OutputFile(const std::string& path);
  /// Removes the temporary file when commit() was not reached.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(const std::string& text);
  void commit();

 private:
  void flush();

  std::string path_, temporary_, buffer_;  // temporary_ is empty where path_ is written directly
  int descriptor_ = -1;
};

}  // namespace lenslet
