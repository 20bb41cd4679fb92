// Which memory of a caller a captured pass is made for, and which pairs of buffers are remembered.
#include "framework/execution/kept_graphs.h"

#include <gtest/gtest.h>

namespace lenslet {
namespace {

// Captures made on a CPU hold nothing, so that each later use of the memory asks for one.
class KeptGraphsTest : public testing::Test {
 protected:
  /// Whether a pass from element `i` to element `i` is replayed.
  bool replays(size_t i) {
    return kept_.of({inputs_ + i, outputs_ + i}, [this] {
      ++captures_;
      return CapturedGraph();
    }) != nullptr;
  }

  float inputs_[10] = {}, outputs_[10] = {};
  int captures_ = 0;
  KeptGraphs kept_;
};

TEST_F(KeptGraphsTest, MemoryThatComesAgainIsCaptured) {
  EXPECT_FALSE(replays(0));
  EXPECT_FALSE(replays(1)) << "other memory";
  EXPECT_EQ(captures_, 0);
  EXPECT_TRUE(replays(0));
  EXPECT_TRUE(replays(1));
  EXPECT_EQ(captures_, 2);
  EXPECT_EQ(kept_.of({inputs_, outputs_ + 1}, [] { return CapturedGraph(); }), nullptr)
      << "the input of one and the output of another";
}

TEST_F(KeptGraphsTest, TheEightPairsUsedLastAreRemembered) {
  for (size_t i = 0; i < 8; ++i) EXPECT_FALSE(replays(i));
  EXPECT_TRUE(replays(0)) << "now used last";
  EXPECT_FALSE(replays(8)) << "the ninth takes the place of the second";
  EXPECT_TRUE(replays(0));
  EXPECT_TRUE(replays(2));
  EXPECT_FALSE(replays(1));
}

}  // namespace
}  // namespace lenslet
