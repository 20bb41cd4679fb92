// Placement of buffers with known lifetimes in one block, so that buffers that are never alive together share bytes.
#pragma once

#include <cstddef>
#include <vector>

namespace lenslet {

/// One buffer: alive from step `first` to step `last`, both included.
struct BufferLifetime {
  size_t bytes = 0;         // may be 0
  int first = 0, last = 0;  // the first and the last step that uses it
};

/// The result of lay_out_memory().
struct MemoryLayout {
  std::vector<size_t> offsets;  // of each buffer, multiples of the alignment
  size_t total_bytes = 0;       // of the block
};

/// Places the largest buffer first, each at the lowest offset that is free for its whole life (greedy by size;
/// Pisarchyk and Lee 2020, arXiv:2001.03288, section 5.2). Buffers of zero bytes get offset 0.
MemoryLayout lay_out_memory(const std::vector<BufferLifetime>& buffers, size_t alignment);

}  // namespace lenslet
