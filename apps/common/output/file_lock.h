// Lets one process at a time read a file, add to it and write it back.
#pragma once

#include <optional>
#include <string>

#include "framework/io/file.h"

namespace lenslet {

/// Locks `path` for this process through the empty file "<path>.lenslet-lock" beside it, which is removed at the end.
/// The system releases the lock of a killed process. A file of that name that is not empty belongs to another program
/// and is kept. Programs that only replace the file take no lock.
class FileLock {
 public:
  /// Throws OutputError if another process holds the lock, or if it cannot be created.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::optional<UnfinishedFile> name_;
  int descriptor_ = -1;
};

}  // namespace lenslet
