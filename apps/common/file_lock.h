// One program at a time may read a file, add to it and write it back.
#pragma once

#include <optional>
#include <string>

#include "framework/io/file.h"

namespace lenslet {

/// Holds `path` for this process by a lock on the empty file "<path>.lenslet-lock" beside it, which is removed at the
/// end; a process that was killed holds nothing, whatever it left behind. A file of that name that is not empty belongs
/// to another program, and stays. Programs that merely replace the file take no lock.
class FileLock {
 public:
  /// Throws OutputError where another process holds it, or the lock cannot be made.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::optional<UnfinishedFile> name_;
  int descriptor_ = -1;
};

}  // namespace lenslet
