// Device memory that detects accesses outside a tensor: each block lies between canaries.
#pragma once

#include <string>
#include <vector>

#include "framework/tensor/tensor.h"

namespace lenslet::reference {

/// Blocks of one allocation, each aligned to Buffer::kAlignment, with a canary before, between and after. The
/// slack up to the alignment belongs to the canary behind, so that one element too many is detected.
class GuardedMemory {
 public:
  /// Canary bytes on each side of a block: more than a vector store or a short row can skip.
  static constexpr size_t kCanaryBytes = 4096;
  /// Bytes of all ones are a NaN in fp32, fp16 and fp64: reading out of bounds or leaving out a write makes the result
  /// NaN.
  static constexpr int kNanByte = 0xff;
  /// Another pattern, for a second run: NaNs written out of bounds would vanish in the first.
  static constexpr int kMarkByte = 0xa5;

  /// Blocks of those sizes between canaries. Throws MemoryError, and UsageError for an invalid LENSLET_UNPOISONED.
  GuardedMemory(Device device, const std::vector<size_t>& block_bytes);
  /// The start of that block.
  void* block(size_t index) const noexcept;
  /// The size of that block.
  size_t block_bytes(size_t index) const noexcept { return sizes_[index]; }
  /// Fills everything, blocks included, with one byte, and so the shared memory of a GPU. With LENSLET_UNPOISONED=1,
  /// for tools that detect reads of uninitialised memory, only the gaps between the blocks.
  void poison(int byte, Stream& stream);
  /// Fills a block from host memory; synchronises.
  void upload(size_t index, const void* host, Stream& stream);
  /// Copies a block to the host and waits.
  void download(size_t index, void* host, Stream& stream) const;
  /// "wrote before block 1" or "…behind…" for the first canary that changed; empty when all are whole. Waits.
  std::string damage(int byte, Stream& stream) const;

 private:
  Device device_;
  std::vector<size_t> sizes_, offsets_;
  size_t total_ = 0;
  bool poisoned_;
  Buffer memory_;
};

}  // namespace lenslet::reference
