// Shares of ranks, how they agree on errors, and the GPU of each. Threads stand in for the processes.
#include "apps/common/ranks/ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "apps/common/system/signals.h"
#include "framework/device/device.h"
#include "framework/device/launched_rank.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

TEST(Shares, CoverEveryItemOnceInOrderAndCutNoGroup) {
  for (const int size : {1, 2, 3, 4, 8, 13}) {
    for (const int64_t count : {1, 511, 512, 513, 2048, 10000}) {
      int64_t next = 0, min_groups = INT64_MAX, max_groups = 0;
      for (int rank = 0; rank < size; ++rank) {
        const RankRange range = range_of(count, 512, {rank, size});
        EXPECT_EQ(range.first, next) << count << " items, rank " << rank << " of " << size;
        EXPECT_TRUE(range.first % 512 == 0 || range.count == 0);
        next += range.count;
        const int64_t groups = (range.count + 511) / 512;
        min_groups = std::min(min_groups, groups);
        max_groups = std::max(max_groups, groups);
      }
      EXPECT_EQ(next, count);
      EXPECT_LE(max_groups - min_groups, 1) << count << " items for " << size;
    }
  }
}

/// Variables of mpirun, as long as it exists.
class LaunchedBy {
 public:
  explicit LaunchedBy(const std::map<std::string, std::string>& variables) {
    for (const char* name : kNames) ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~LaunchedBy() {
    for (const char* name : kNames) ::unsetenv(name);
  }

 private:
  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                           "OMPI_COMM_WORLD_LOCAL_RANK"};
};

std::map<std::string, std::string> variables(const char* rank, const char* size, const char* local) {
  return {
      {"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", size}, {"OMPI_COMM_WORLD_LOCAL_RANK", local}};
}

TEST(LaunchedRank, IsReadFromTheEnvironment) {
  {
    const LaunchedBy shell({});
    EXPECT_FALSE(launched_rank());
  }
  {
    const LaunchedBy mpirun(variables("11", "16", "3"));
    ASSERT_TRUE(launched_rank());
    EXPECT_EQ(launched_rank()->rank, 11);
    EXPECT_EQ(launched_rank()->size, 16);
    EXPECT_EQ(launched_rank()->local, 3);
  }
  for (const auto& [rank, size, local] :
       {std::tuple("4", "4", "0"), std::tuple("-1", "4", "0"), std::tuple("1", "4", "x"),
        std::tuple("1", "", "0"), std::tuple("1", "4 ", "0")}) {
    const LaunchedBy odd(variables(rank, size, local));
    EXPECT_FALSE(launched_rank()) << rank << " of " << size << ", local " << local;
  }
}

TEST(GpuOfRank, IsOneForEachProcessAndInTurnBeyond) {
  std::vector<int> gpus;
  gpus.reserve(6);
  for (int local = 0; local < 6; ++local) gpus.push_back(gpu_of_rank(local, 4));
  EXPECT_EQ(gpus, (std::vector<int>{0, 1, 2, 3, 0, 1}));
}

TEST(GpuOfRank, NeedsMpirunAndAGpu) {
  {
    const LaunchedBy shell({});
    expect_error<UsageError>([] { choose_device("cuda:rank"); }, "OMPI_COMM_WORLD_SIZE is not set");
  }
  const LaunchedBy mpirun(variables("5", "8", "5"));
  const auto gpus = static_cast<int>(cuda_status().devices.size());
  if (gpus > 0)
    EXPECT_EQ(choose_device("cuda:rank").device, Device::cuda(5 % gpus));
  else
    expect_error<UnavailableError>([] { choose_device("cuda:rank"); }, "device cuda:rank is unavailable: ");
}

// Nonsense is no lack of mpirun: the message names the variable, what it holds and what it may hold.
TEST(GpuOfRank, NamesTheVariableThatIsNoRank) {
  const auto refused = [](const std::map<std::string, std::string>& given, const std::string& words) {
    const LaunchedBy odd(given);
    expect_error<UsageError>([] { choose_device("cuda:rank"); }, words);
  };
  refused(variables("1", "4", "x"), "OMPI_COMM_WORLD_LOCAL_RANK must be a number from 0 to 3, found 'x'");
  refused(variables("1", "4", "4"), "OMPI_COMM_WORLD_LOCAL_RANK must be a number from 0 to 3, found '4'");
  refused(variables("1", "4", "\x1b[31m"), "from 0 to 3, found '\\x1b[31m'");
  refused(variables("-1", "4", "0"), "OMPI_COMM_WORLD_RANK must be a number from 0 to 3, found '-1'");
  refused(variables("0", "0", "0"),
          "OMPI_COMM_WORLD_SIZE must be a number from 1 to 2147483647, found '0'; use device cuda:N");
  refused(variables("0", "", "0"), "OMPI_COMM_WORLD_SIZE must be a number from 1 to 2147483647, found ''");
  refused({{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}, "OMPI_COMM_WORLD_SIZE is not set");
  refused({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
          "OMPI_COMM_WORLD_LOCAL_RANK is not set");
}

constexpr int kRanks = 4;

/// What the ranks of a test exchange.
struct Room {
  std::mutex mutex;
  int round = 0, arrived = 0;
  std::string data[kRanks], collected;
  std::optional<int> aborted;
};

/// Thrown in a rank that mpirun kills, because another called abort().
struct Killed {};

/// A link between threads: a call waits until all have made it.
class ThreadLink : public RankLink {
 public:
  ThreadLink(Room& room, int rank) : room_(room), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return kRanks; }
  bool exchange(const void* mine, size_t bytes, void* all, const std::function<bool()>& wait) override {
    std::unique_lock<std::mutex> lock(room_.mutex);
    const int round = room_.round;
    room_.data[rank_].assign(static_cast<const char*>(mine), bytes);
    if (++room_.arrived == kRanks) {
      room_.collected.clear();
      for (const std::string& data : room_.data) room_.collected += data;
      room_.arrived = 0;
      ++room_.round;
    }
    while (room_.round == round) {
      if (room_.aborted) throw Killed();
      lock.unlock();
      if (!wait()) return false;
      std::this_thread::yield();
      lock.lock();
    }
    std::memcpy(all, room_.collected.data(), room_.collected.size());
    return true;
  }
  void broadcast(void* data, size_t bytes, int from) override {
    std::string all(bytes * kRanks, '\0');
    exchange(data, bytes, all.data(), [] { return true; });
    std::memcpy(data, all.data() + bytes * static_cast<size_t>(from), bytes);
  }
  void send(const void* data, size_t bytes) override {
    const std::lock_guard<std::mutex> lock(room_.mutex);
    sent_.emplace(rank_, std::string(static_cast<const char*>(data), bytes));
  }
  void receive(int from, void* data, size_t bytes) override {
    for (;; std::this_thread::yield()) {
      const std::lock_guard<std::mutex> lock(room_.mutex);
      const auto found = sent_.find(from);
      if (found == sent_.end()) continue;
      EXPECT_EQ(found->second.size(), bytes);
      std::memcpy(data, found->second.data(), bytes);
      sent_.erase(found);
      return;
    }
  }
  void abort(int code) override {
    const std::lock_guard<std::mutex> lock(room_.mutex);
    if (!room_.aborted) room_.aborted = code;
  }

 private:
  static inline std::map<int, std::string> sent_;
  Room& room_;
  int rank_;
};

struct Ended {
  ExitCode code = ExitCode::kOk;
  std::string message;
};

/// How each rank ends.
template <class Link = ThreadLink>
std::vector<Ended> in_threads(const std::function<ExitCode(Ranks&)>& body,
                              std::optional<int>* aborted = nullptr) {
  Room room;
  std::vector<Ended> ended(kRanks);
  std::vector<std::thread> threads;
  threads.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Link link(room, rank);
      Ranks ranks(&link);
      Ended& mine = ended[static_cast<size_t>(rank)];
      try {
        mine.code = ranks.together([&] { return body(ranks); });
      } catch (const Error& error) {
        mine = {error.exit_code(), error.what()};
      } catch (const Killed&) {
        mine = {ExitCode::kOk, "killed"};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (aborted != nullptr) *aborted = room.aborted;
  return ended;
}

TEST(Ranks, SumAndGatherInTheOrderOfTheRanks) {
  const std::vector<Ended> ended = in_threads([](Ranks& ranks) {
    int64_t one = 1, squares = ranks.rank() * ranks.rank();
    ranks.sum({&one, &squares});
    std::vector<int> values(static_cast<size_t>(ranks.rank()), ranks.rank());  // rank 0 has none
    ranks.gather(values);
    const std::vector<int> all = ranks.all(10 * ranks.rank());
    EXPECT_EQ(all, (std::vector<int>{0, 10, 20, 30}));
    if (!ranks.first()) return ExitCode::kOk;
    EXPECT_EQ(one, 4);
    EXPECT_EQ(squares, 14);
    EXPECT_EQ(values, (std::vector<int>{1, 2, 2, 3, 3, 3}));
    return ExitCode::kOk;
  });
  for (const Ended& rank : ended) EXPECT_EQ(rank.code, ExitCode::kOk) << rank.message;
}

TEST(Ranks, OneThatFailsEndsAllAndTheFirstReportsIt) {
  const std::vector<Ended> ended = in_threads([](Ranks& ranks) {
    if (ranks.rank() == 2) throw DataError("no such file");
    ranks.meet();
    ADD_FAILURE() << "rank " << ranks.rank() << " went on";
    return ExitCode::kOk;
  });
  for (const Ended& rank : ended) EXPECT_EQ(rank.code, ExitCode::kData);
  EXPECT_EQ(ended[0].message, "rank 2 of 4: no such file");
  for (size_t other = 1; other < kRanks; ++other) EXPECT_EQ(ended[other].message, "");
}

TEST(Ranks, EndWithTheLargestExitCode) {
  const std::vector<Ended> ended = in_threads([](Ranks& ranks) -> ExitCode {
    if (ranks.rank() == 3) throw OutputError("disk is full");
    if (ranks.rank() == 1) return ExitCode::kOk;
    throw DataError("no such file");
  });
  for (const Ended& rank : ended) EXPECT_EQ(rank.code, ExitCode::kOutput);
  EXPECT_EQ(ended[0].message, "rank 3 of 4: disk is full");
}

// A verdict of the first rank, after the others have done their part.
TEST(Ranks, KeepTheErrorOfTheFirst) {
  const std::vector<Ended> ended = in_threads([](Ranks& ranks) -> ExitCode {
    if (ranks.first()) throw CheckError("accuracy is too low");
    return ExitCode::kOk;
  });
  for (const Ended& rank : ended) EXPECT_EQ(rank.code, ExitCode::kCheckFailed);
  EXPECT_EQ(ended[0].message, "accuracy is too low");
}

/// A rank whose others never answer.
class DeafLink : public ThreadLink {
 public:
  using ThreadLink::ThreadLink;
  bool exchange(const void*, size_t, void*, const std::function<bool()>& wait) override {
    while (wait()) std::this_thread::yield();
    return false;
  }
};

TEST(Ranks, OneThatFailsEndsOthersThatComputeOn) {
  Room room;
  DeafLink link(room, 1);
  Ranks ranks(&link);
  testing::internal::CaptureStderr();
  EXPECT_EQ(ranks.together([]() -> ExitCode { throw DeviceError("the GPU is lost"); }), ExitCode::kDevice);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "lenslet: error: rank 1 of 4: the GPU is lost; all ranks end\n");
  EXPECT_EQ(room.aborted, static_cast<int>(ExitCode::kDevice));
}

/// The last rank takes part in one exchange and the broadcast that follows, then hangs.
class HangingLink : public ThreadLink {
 public:
  using ThreadLink::ThreadLink;
  bool exchange(const void* mine, size_t bytes, void* all, const std::function<bool()>& wait) override {
    if (rank() == kRanks - 1 && ++exchanges_ == 3) throw Killed();
    return ThreadLink::exchange(mine, bytes, all, wait);
  }

 private:
  int exchanges_ = 0;
};

// All know of the failure, but none can leave MPI before the last one does.
TEST(Ranks, OneThatFailsEndsOneThatHangsAfterwards) {
  std::optional<int> aborted;
  testing::internal::CaptureStderr();
  const std::vector<Ended> ended = in_threads<HangingLink>(
      [](Ranks& ranks) -> ExitCode {
        if (ranks.rank() == 1) throw DataError("no such file");
        ranks.meet();
        return ExitCode::kOk;
      },
      &aborted);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "lenslet: error: rank 1 of 4: no such file; all ranks end\n");
  EXPECT_EQ(aborted, static_cast<int>(ExitCode::kData));
  EXPECT_EQ(ended[1].code, ExitCode::kData);
  for (const size_t other : {0U, 2U, 3U}) EXPECT_EQ(ended[other].message, "killed");
}

/// Every rank answers the first exchange, no rank a later one.
class OnceLink : public DeafLink {
 public:
  using DeafLink::DeafLink;
  bool exchange(const void* mine, size_t bytes, void* all, const std::function<bool()>& wait) override {
    if (++exchanges_ > 1) return DeafLink::exchange(mine, bytes, all, wait);
    std::memset(all, 0, bytes * kRanks);
    return true;
  }

 private:
  int exchanges_ = 0;
};

// Where the ranks exchange values, too: another rank that hangs does not keep this one.
TEST(Ranks, AnInterruptEndsTheWaitForValues) {
  Room room;
  OnceLink link(room, 1);
  Ranks ranks(&link);
  stop_after(0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(ranks.together([&] {
    (void)ranks.all(7);
    return ExitCode::kOk;
  }),
            ExitCode::kInterrupted);
  stop_after(1e6);  // not in this program's time
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "lenslet: error: rank 1 of 4: interrupted; all ranks end\n");
  EXPECT_EQ(room.aborted, static_cast<int>(ExitCode::kInterrupted));
}

TEST(Ranks, AProcessAloneNeedsNoLink) {
  Ranks ranks;
  EXPECT_TRUE(ranks.alone() && ranks.first());
  EXPECT_EQ(ranks.range(1000, 512).count, 1000);
  int64_t value = 7;
  ranks.sum({&value});
  std::vector<int> values = {1, 2};
  ranks.gather(values);
  ranks.meet();
  EXPECT_EQ(value, 7);
  EXPECT_EQ(values, (std::vector<int>{1, 2}));
  EXPECT_EQ(ranks.together([] { return ExitCode::kCheckFailed; }), ExitCode::kCheckFailed);
}

}  // namespace
}  // namespace lenslet
