// Device memory that detects accesses outside a tensor: each block lies between canaries.
#pragma once

#include <string>
#include <vector>

#include "framework/tensor/tensor.h"

namespace lenslet::reference {

/// Blocks of one allocation, each aligned to Buffer::kAlignment, with a canary before, between and after. The
/// slack up to the alignment belongs to the canary after, so that one element too many is detected.
class GuardedMemory {
 public:
  /// Canary bytes on each side of a block: more than a vector store or a short row can skip.
  static constexpr size_t kCanaryBytes = 4096;

  /// Blocks of those sizes between canaries. Throws MemoryError, and UsageError for an invalid LENSLET_UNPOISONED.
  GuardedMemory(Device device, const std::vector<size_t>& block_bytes);
  /// The start of that block.
  void* block(size_t index) const noexcept;
  /// The size of that block.
  size_t block_bytes(size_t index) const noexcept { return sizes_[index]; }
  /// Fills everything, blocks included, and on a GPU its shared memory, with one byte. With LENSLET_UNPOISONED=1,
  /// for tools that detect reads of uninitialised memory, only the gaps between the blocks.
  void poison(int byte, Stream& stream);
  /// Enqueues a copy of `host` to a block. Pageable host memory may be reused when this returns.
  void upload(size_t index, const void* host, Stream& stream);
  /// Copies a block to the host and waits.
  void download(size_t index, void* host, Stream& stream) const;
  /// "wrote before block 1" or "…past the end of…" for the first canary that changed; empty when all are whole. Waits.
  std::string damage(int byte, Stream& stream) const;

 private:
  Device device_;
  std::vector<size_t> sizes_, offsets_;
  size_t total_ = 0;
  bool poisoned_;
  Buffer memory_;
};

}  // namespace lenslet::reference
