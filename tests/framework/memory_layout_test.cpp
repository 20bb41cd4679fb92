// Buffers that are alive together never overlap, and share memory otherwise.
#include "framework/execution/memory_layout.h"

#include <gtest/gtest.h>

#include <random>

#include "framework/base/integer_math.h"

namespace lenslet {
namespace {

constexpr size_t kAlign = 256;

void expect_valid(const std::vector<BufferLifetime>& buffers, const MemoryLayout& layout) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(layout.offsets[i] % kAlign, 0u);
    EXPECT_LE(layout.offsets[i] + buffers[i].bytes, layout.total_bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      if (!together || buffers[i].bytes == 0 || buffers[j].bytes == 0) continue;
      const bool apart = layout.offsets[i] + buffers[i].bytes <= layout.offsets[j] ||
                         layout.offsets[j] + buffers[j].bytes <= layout.offsets[i];
      EXPECT_TRUE(apart) << "buffers " << i << " and " << j << " are alive together and overlap";
    }
  }
}

TEST(MemoryLayout, AChainNeedsTwoBuffers) {
  std::vector<BufferLifetime> chain;
  for (int i = 0; i < 6; ++i) chain.push_back({1024, i, i + 1});
  const MemoryLayout layout = lay_out_memory(chain, kAlign);
  expect_valid(chain, layout);
  EXPECT_EQ(layout.total_bytes, 2048u);
}

TEST(MemoryLayout, NeverOverlapsWhatIsAliveTogether) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferLifetime> buffers(1 + random() % 30);
    size_t sum = 0;
    for (BufferLifetime& buffer : buffers) {
      buffer.bytes = random() % 5000;
      buffer.first = static_cast<int>(random() % 20);
      buffer.last = buffer.first + static_cast<int>(random() % 6);
      sum += align_up(buffer.bytes, kAlign);
    }
    const MemoryLayout layout = lay_out_memory(buffers, kAlign);
    expect_valid(buffers, layout);
    EXPECT_LE(layout.total_bytes, sum);
  }
}

}  // namespace
}  // namespace lenslet
