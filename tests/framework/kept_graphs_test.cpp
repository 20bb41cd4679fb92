// Which memory of a caller a captured pass is made for, and which pairs of buffers are remembered.
#include "framework/execution/kept_graphs.h"

#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

// Captures made on a CPU hold nothing.
class KeptGraphsTest : public testing::Test {
 protected:
  /// Whether a pass from element `i` to element `i` is replayed.
  bool replays(size_t i) {
    return kept_.of({inputs_ + i, outputs_ + i}, [this] {
      ++captures_;
      if (fails_) throw DeviceError("planted");
      return CapturedGraph();
    }) != nullptr;
  }

  float inputs_[10] = {}, outputs_[10] = {};
  int captures_ = 0;
  bool fails_ = false;
  KeptGraphs kept_;
};

TEST_F(KeptGraphsTest, MemoryThatComesAgainIsCaptured) {
  EXPECT_FALSE(replays(0));
  EXPECT_FALSE(replays(1)) << "other memory";
  EXPECT_EQ(captures_, 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(replays(0));
    EXPECT_TRUE(replays(1));
  }
  EXPECT_EQ(captures_, 2) << "once for each";
  EXPECT_EQ(kept_.of({inputs_, outputs_ + 1}, [] { return CapturedGraph(); }), nullptr)
      << "the input of one and the output of another";
  EXPECT_EQ(kept_.of({inputs_, outputs_, outputs_ + 2}, [] { return CapturedGraph(); }), nullptr)
      << "probabilities elsewhere";
}

TEST_F(KeptGraphsTest, TheEightPairsUsedLastAreRemembered) {
  for (size_t i = 0; i < 8; ++i) EXPECT_FALSE(replays(i));
  EXPECT_TRUE(replays(0)) << "now used last";
  EXPECT_FALSE(replays(8)) << "the ninth takes the place of the second";
  EXPECT_TRUE(replays(0));
  EXPECT_TRUE(replays(2));
  EXPECT_FALSE(replays(1));
}

TEST_F(KeptGraphsTest, ACaptureThatFailsThrowsOnceAndIsTheLast) {
  EXPECT_FALSE(replays(0));
  EXPECT_TRUE(replays(0));
  EXPECT_FALSE(replays(1));
  EXPECT_FALSE(replays(2));
  fails_ = true;
  expect_error<DeviceError>([&] { (void)replays(1); }, "planted");
  EXPECT_EQ(captures_, 2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(replays(0)) << "captured before";
    EXPECT_FALSE(replays(1)) << "the memory of the failed capture";
    EXPECT_FALSE(replays(2)) << "seen once before it";
    EXPECT_FALSE(replays(3)) << "seen first after it";
  }
  EXPECT_EQ(captures_, 2) << "none was tried again";
  for (size_t i = 1; i < 10; ++i) EXPECT_FALSE(replays(i));
  EXPECT_TRUE(replays(0)) << "pairs that are not captured take no place";
}

}  // namespace
}  // namespace lenslet
