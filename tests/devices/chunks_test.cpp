// Chunks: each is taken by one worker, lands once, and is offered again if its worker failed.
#include "api/chunks.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace lenslet {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSoon(20), kLong(10000);

TEST(Chunks, CoverTheImagesInOrder) {
  Chunks chunks;
  for (const int64_t total : {1, 6, 7, 8, 20, 21}) {
    chunks.begin(total, 7, 1);
    int64_t next = 0;
    for (Chunk chunk; chunks.next(chunk); next += chunk.images) {
      EXPECT_EQ(chunk.first, next);
      EXPECT_EQ(chunk.images, std::min<int64_t>(7, total - next));
      chunks.land(chunk);
    }
    EXPECT_EQ(next, total);
    EXPECT_EQ(chunks.in_order(), total);
    EXPECT_FALSE(chunks.wait()) << "all have landed";
  }
}

TEST(Chunks, CountImagesBeforeTheFirstThatIsMissing) {
  Chunks chunks;
  chunks.begin(20, 7, 1);
  Chunk a, b, c;
  ASSERT_TRUE(chunks.next(a) && chunks.next(b) && chunks.next(c));
  chunks.land(b);
  EXPECT_EQ(chunks.in_order(), 0);
  chunks.land(a);
  EXPECT_EQ(chunks.in_order(), 14);
  chunks.land(c);
  EXPECT_EQ(chunks.in_order(), 20) << "not 21";
}

TEST(Chunks, ThatAreGivenBackAreTakenAgain) {
  Chunks chunks;
  chunks.begin(20, 7, 2);
  Chunk a, b, c, again;
  ASSERT_TRUE(chunks.next(a) && chunks.next(b) && chunks.next(c));
  EXPECT_FALSE(chunks.next(again));
  chunks.give_back(b);
  ASSERT_TRUE(chunks.next(again));
  EXPECT_EQ(again.first, b.first);
  EXPECT_EQ(again.images, b.images);
}

// The last chunk of a device that fails comes back after the others have taken all there was.
TEST(Chunks, AreWaitedForUntilAllHaveLanded) {
  Chunks chunks;
  chunks.begin(7, 7, 2);
  Chunk taken;
  ASSERT_TRUE(chunks.next(taken));
  std::future<bool> waits = std::async(std::launch::async, [&] { return chunks.wait(); });
  EXPECT_EQ(waits.wait_for(kSoon), std::future_status::timeout) << "it may still come back";
  chunks.give_back(taken);
  ASSERT_EQ(waits.wait_for(kLong), std::future_status::ready);
  EXPECT_TRUE(waits.get());
  ASSERT_TRUE(chunks.next(taken));
  waits = std::async(std::launch::async, [&] { return chunks.wait(); });
  EXPECT_EQ(waits.wait_for(kSoon), std::future_status::timeout);
  chunks.land(taken);
  ASSERT_EQ(waits.wait_for(kLong), std::future_status::ready);
  EXPECT_FALSE(waits.get());
}

TEST(Chunks, OnceStoppedNoneIsTaken) {
  Chunks chunks;
  chunks.begin(20, 7, 1);
  Chunk chunk;
  ASSERT_TRUE(chunks.next(chunk));
  std::thread other([&] { chunks.stop(); });
  other.join();
  Chunk next;
  EXPECT_FALSE(chunks.next(next));
  EXPECT_FALSE(chunks.wait());
  chunks.give_back(chunk);
  EXPECT_FALSE(chunks.next(next));
  EXPECT_FALSE(chunks.wait());
  chunks.begin(20, 7, 1);
  ASSERT_TRUE(chunks.next(next)) << "a new call begins";
  EXPECT_EQ(next.first, 0);
}

TEST(Chunks, AreWatchedUntilAllWorkersHaveLeft) {
  Chunks chunks;
  chunks.begin(14, 7, 2);
  EXPECT_TRUE(chunks.watch(0, milliseconds(1))) << "nothing happened in that time";
  Chunk chunk;
  ASSERT_TRUE(chunks.next(chunk));
  std::future<bool> watched = std::async(std::launch::async, [&] { return chunks.watch(0, kLong); });
  EXPECT_EQ(watched.wait_for(kSoon), std::future_status::timeout);
  chunks.land(chunk);
  ASSERT_EQ(watched.wait_for(kLong / 2), std::future_status::ready) << "an image landed";
  EXPECT_TRUE(watched.get());
  chunks.leave();
  chunks.leave();
  EXPECT_FALSE(chunks.watch(7, kLong));
}

}  // namespace
}  // namespace lenslet
