// Shares: which passes compute a number of samples.
#include "apps/lenslet/serve/batches/pass_split.h"

#include <gtest/gtest.h>

#include <utility>

namespace lenslet::serve {
namespace {

using Sizes = std::vector<std::pair<int64_t, int64_t>>;

Sizes shares(int64_t count, const std::vector<PassTime>& passes) {
  Sizes found;
  for (const PassCount& pass : split_into_passes(count, passes)) found.emplace_back(pass.size, pass.count);
  return found;
}

TEST(ServeShares, AreWholePassesWhereEachSampleTakesTime) {
  const std::vector<PassTime> passes = {{64, 64}, {16, 16}, {4, 4}, {1, 1}};
  EXPECT_EQ(shares(1, passes), (Sizes{{1, 1}}));
  EXPECT_EQ(shares(46, passes), (Sizes{{16, 32}, {4, 12}, {1, 2}}));
  EXPECT_EQ(shares(63, passes), (Sizes{{16, 48}, {4, 12}, {1, 3}}));
  EXPECT_EQ(shares(64, passes), (Sizes{{64, 64}}));
  EXPECT_EQ(shares(130, passes), (Sizes{{64, 128}, {1, 2}}));
  EXPECT_EQ(shares(3, {{1, 1}}), (Sizes{{1, 3}}));
}

TEST(ServeShares, AreOnePassWhereItTakesTheTimeOfASmallOne) {
  const std::vector<PassTime> passes = {{64, 32}, {16, 31}, {4, 30}, {1, 25}};
  EXPECT_EQ(shares(1, passes), (Sizes{{1, 1}}));
  EXPECT_EQ(shares(2, passes), (Sizes{{4, 2}}));
  EXPECT_EQ(shares(17, passes), (Sizes{{64, 17}}));
  EXPECT_EQ(shares(46, passes), (Sizes{{64, 46}}));
  EXPECT_EQ(shares(66, passes), (Sizes{{64, 64}, {4, 2}}));
}

TEST(ServeShares, TakeALargePassOnlyForEnoughSamples) {
  const std::vector<PassTime> passes = {{64, 200}, {16, 60}, {4, 40}, {1, 35}};
  EXPECT_EQ(shares(17, passes), (Sizes{{16, 16}, {1, 1}}));
  EXPECT_EQ(shares(30, passes), (Sizes{{16, 30}}));
  EXPECT_EQ(shares(46, passes), (Sizes{{16, 46}}));
  EXPECT_EQ(shares(60, passes), (Sizes{{64, 60}}));
  EXPECT_EQ(shares(80, passes), (Sizes{{64, 64}, {16, 16}}));
  EXPECT_EQ(shares(33, {{64, 100}, {16, 60}, {1, 50}}), (Sizes{{64, 33}}));  // not 16, 16 and 1
}

}  // namespace
}  // namespace lenslet::serve
