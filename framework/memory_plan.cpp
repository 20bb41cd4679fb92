#include "framework/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace lenslet {

MemoryPlan plan_memory(const std::vector<BufferLifetime>& buffers, size_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  const auto rounded = [&](size_t i) { return (buffers[i].bytes + alignment - 1) / alignment * alignment; };

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
      if (offset + rounded(i) <= plan.offsets[other]) break;  // fits into the gap before it
      offset = std::max(offset, plan.offsets[other] + rounded(other));
    }
    plan.offsets[i] = offset;
    plan.total_bytes = std::max(plan.total_bytes, offset + rounded(i));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
                  i);
  }
  return plan;
}

}  // namespace lenslet
