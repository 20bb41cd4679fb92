#include "framework/execution/memory_layout.h"

#include <algorithm>
#include <numeric>

#include "framework/base/integer_math.h"

namespace lenslet {

MemoryLayout lay_out_memory(const std::vector<BufferLifetime>& buffers, size_t alignment) {
  MemoryLayout layout;
  layout.offsets.assign(buffers.size(), 0);
  const auto rounded = [&](size_t i) { return align_up(buffers[i].bytes, alignment); };

  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });

  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    if (buffers[i].bytes == 0) continue;
    size_t offset = 0;
    for (size_t other : placed) {
      const bool together =
          buffers[other].first <= buffers[i].last && buffers[i].first <= buffers[other].last;
      if (!together) continue;
      if (offset + rounded(i) <= layout.offsets[other]) break;  // fits into the gap before it
      offset = std::max(offset, layout.offsets[other] + rounded(other));
    }
    layout.offsets[i] = offset;
    layout.total_bytes = std::max(layout.total_bytes, offset + rounded(i));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; }),
                  i);
  }
  return layout;
}

}  // namespace lenslet
