// Bytes that are read piece by piece, so that a large file is never in memory as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lenslet {

/// A file, or bytes in memory.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  /// The length in bytes.
  virtual uint64_t size() const noexcept = 0;
  /// Copies `bytes` bytes from `offset` on. Throws DataError if the source has fewer or cannot be read, and
  /// InterruptedError like read_file().
  virtual void read(uint64_t offset, void* into, size_t bytes) const = 0;
};

/// Bytes in memory.
class MemoryBytes final : public ByteSource {
 public:
  /// Owns `bytes`.
  explicit MemoryBytes(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const noexcept override { return bytes_.size(); }
  void read(uint64_t offset, void* into, size_t bytes) const override;

 private:
  std::vector<uint8_t> bytes_;
};

/// A regular file, open as long as the object exists. Reading is safe while another process changes or cuts the file.
class FileBytes final : public ByteSource {
 public:
  /// Opens like read_file(), but without standard input. Throws DataError.
  explicit FileBytes(const std::string& path);
  ~FileBytes() override;
  uint64_t size() const noexcept override { return size_; }
  void read(uint64_t offset, void* into, size_t bytes) const override;

 private:
  std::string name_;  // as messages print it
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace lenslet
