#include "framework/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lenslet {
namespace {

constexpr size_t kAlign = 256;

void expect_valid(const std::vector<BufferLifetime>& buffers, const MemoryPlan& plan) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kAlign, 0u);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.total_bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      if (!together || buffers[i].bytes == 0 || buffers[j].bytes == 0) continue;
      const bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                         plan.offsets[j] + buffers[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(apart) << "buffers " << i << " and " << j << " are alive together and overlap";
    }
  }
}

TEST(MemoryPlan, AChainNeedsTwoBuffers) {
  std::vector<BufferLifetime> chain;
  for (int i = 0; i < 6; ++i) chain.push_back({1024, i, i + 1});
  const MemoryPlan plan = plan_memory(chain, kAlign);
  expect_valid(chain, plan);
  EXPECT_EQ(plan.total_bytes, 2048u);
}

TEST(MemoryPlan, NeverOverlapsWhatIsAliveTogether) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferLifetime> buffers(1 + random() % 30);
    size_t sum = 0;
    for (BufferLifetime& buffer : buffers) {
      buffer.bytes = random() % 5000;
      buffer.first = static_cast<int>(random() % 20);
      buffer.last = buffer.first + static_cast<int>(random() % 6);
      sum += (buffer.bytes + kAlign - 1) / kAlign * kAlign;
    }
    const MemoryPlan plan = plan_memory(buffers, kAlign);
    expect_valid(buffers, plan);
    EXPECT_LE(plan.total_bytes, sum);
  }
}

}  // namespace
}  // namespace lenslet
