// shared_loop(): who computes which items, and what the memory of a slot may rely on.
#include "framework/base/shared_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "framework/base/error.h"

namespace lenslet {
namespace {

/// Sets the number of threads of parallel_for() while it exists.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

struct Slot {
  std::atomic<int> entered{0}, inside{0};
};

TEST(SharedLoop, CoversEveryItemOnceInWholeGrains) {
  for (int threads : {1, 2, 3}) {
    const Threads set(threads);
    for (int64_t slots : {1, 2, 3, 5}) {
      for (int64_t grain : {1, 12}) {
        for (int64_t items : {0, 1, 11, 12, 13, 500, 2000, 4097}) {
          const std::string what =
              concat(threads, " threads, ", slots, " slots, ", items, " items of ", grain);
          std::vector<std::atomic<int>> seen(static_cast<size_t>(items));
          std::vector<Slot> memory(static_cast<size_t>(slots));
          const bool equal = slots == 1 || ceil_div(items, grain) < slots * kMinLoopTurns;
          const auto body = [&](int64_t slot, int64_t begin, int64_t end) {
            Slot& own = memory[static_cast<size_t>(slot)];
            EXPECT_EQ(own.entered.load(), 1) << what;
            EXPECT_EQ(++own.inside, 1) << what << ": two threads in slot " << slot;
            EXPECT_TRUE(equal || begin % grain == 0) << what << ": a range from " << begin;
            for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
            --own.inside;
          };
          shared_loop({items, slots, grain}, body,
                      [&](int64_t slot) { ++memory[static_cast<size_t>(slot)].entered; });
          for (const auto& times : seen) ASSERT_EQ(times.load(), 1) << what;
        }
      }
    }
  }
}

// A core that other processes use for a time must not keep its half of the items.
TEST(SharedLoop, FreeThreadsTakeWhatABusyOneHasLeft) {
  const Threads set(2);
  constexpr int64_t kItems = 1000;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::atomic<int64_t> done{0}, of_busy{0};
  shared_loop({kItems, 2}, [&](int64_t slot, int64_t begin, int64_t end) {
    if (slot == 0) {
      of_busy += end - begin;
      while (done.load() < kItems - of_busy.load() && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    }
    done += end - begin;
  });
  EXPECT_EQ(done.load(), kItems);
  EXPECT_LE(of_busy.load(), 2 * kItems / kMaxLoopTurns);
}

TEST(SharedLoop, FewGrainsAreSplitIntoEqualParts) {
  const Threads set(2);
  std::atomic<int> ranges{0};
  constexpr int64_t kItems = 2 * kMinLoopTurns - 2;
  shared_loop({kItems, 2}, [&](int64_t slot, int64_t begin, int64_t end) {
    ++ranges;
    EXPECT_EQ(begin, slot * kItems / 2);
    EXPECT_EQ(end, (slot + 1) * kItems / 2);
  });
  EXPECT_EQ(ranges.load(), 2);
}

}  // namespace
}  // namespace lenslet
