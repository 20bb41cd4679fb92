// DeviceSet: devices take chunks as fast as they compute them; answers are whole and in place whatever device fails, is
// slow or runs out of memory. The devices are networks of one layer on the CPU, with planted faults and delays.
#include "api/device_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include "api/feed.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

constexpr int64_t kValues = 4;
constexpr int64_t kBatch = 4, kChunks = 10, kCount = kBatch * kChunks - 1;  // the last chunk is smaller
constexpr InputOutput kValuesInAndOut{ElementType::kFp32, ElementType::kFp32};
constexpr std::chrono::seconds kGiveUp(10);

/// What happens in each run of a device, before it computes. Set `before` while nothing runs.
struct Planted {
  std::function<void(int run)> before = [](int) {};  // `run` counts from 0
  std::atomic<int> runs{0};
};

/// y = x + 1.
class PlantedLayer : public toys::AddLayer {
 public:
  explicit PlantedLayer(Planted& planted) : planted_(planted) {}
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }

 private:
  void compute(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) const override {
    planted_.before(planted_.runs++);
    for (int64_t i = 0; i < output.shape.num_elements(); ++i) output.data[i] = inputs[0].data[i] + 1;
  }
  Planted& planted_;
};

/// A device on the CPU, with its network.
struct ToyDevice {
  ToyDevice(int64_t batch, int lanes, int depth = 1) : graph("toy", "input", {kValues}) {
    graph.add("plus_one", std::make_unique<PlantedLayer>(planted), {"input"});
    BuildOptions pass;
    pass.batch = batch;
    FeedOptions options;
    options.lanes = lanes;
    options.depth = depth;
    options.staged = true;
    feed = std::make_unique<Feed>(graph, pass, options);
    feed->prepare();
  }
  Planted planted;
  Graph graph;
  std::unique_ptr<Feed> feed;
};

void wait_until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kGiveUp;
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::yield();
  }
}

/// Devices that compute calls together.
class Devices {
 public:
  explicit Devices(size_t devices, int lanes = 1, int depth = 1)
      : set_(std::vector<Device>(devices, Device::cpu())) {
    for (size_t i = 0; i < devices; ++i) toys_.push_back(std::make_unique<ToyDevice>(kBatch, lanes, depth));
  }
  DeviceSet& set() { return set_; }
  Planted& operator[](size_t i) { return toys_[i]->planted; }
  int64_t images(size_t i) const { return set_.shares()[i].images; }
  std::string fault(size_t i) const { return set_.shares()[i].fault; }

  /// Computes `count` images, whose answers are in `answers`, -1 where none was written.
  int64_t run(int64_t count = kCount, const Progress& progress = {}) {
    std::vector<Feed*> feeds;
    for (size_t i = 0; i < toys_.size(); ++i) feeds.push_back(set_.has(i) ? toys_[i]->feed.get() : nullptr);
    images_.resize(static_cast<size_t>(count * kValues));
    for (size_t i = 0; i < images_.size(); ++i) images_[i] = static_cast<float>(i);
    answers.assign(images_.size(), -1);
    return set_.run(feeds, images_.data(), count, {answers.data()}, kValuesInAndOut, progress);
  }
  /// Whether the first `count` answers are right.
  void expect_answers(int64_t count) const {
    for (int64_t i = 0; i < count * kValues; ++i)
      ASSERT_EQ(answers[static_cast<size_t>(i)], static_cast<float>(i + 1)) << "value " << i;
  }
  void expect_all(int64_t count = kCount) {
    EXPECT_EQ(run(count), count);
    expect_answers(count);
  }

  std::vector<float> answers;

 private:
  // For the lanes of eight devices.
  struct ManyThreads {
    ManyThreads() { set_num_threads(24); }
    ~ManyThreads() { set_num_threads(before); }
    const int before = num_threads();
  } threads_;
  DeviceSet set_;
  std::vector<std::unique_ptr<ToyDevice>> toys_;
  std::vector<float> images_;
};

template <typename Exception>
std::function<void(int)> throws_at(int run, const std::string& words = "planted") {
  return [=](int now) {
    if (now == run) throw Exception(words);
  };
}

TEST(DeviceSet, AnswersEveryImageInItsPlace) {
  for (const size_t devices : {1, 2, 3, 8}) {
    for (const int lanes : {1, 3}) {
      for (const int depth : {1, 2}) {
        Devices all(devices, lanes, depth);
        int64_t computed = 0;
        for (const int64_t count : {int64_t{1}, int64_t{2}, kBatch, kBatch + 1, kCount, 100 * kBatch}) {
          SCOPED_TRACE(testing::Message() << devices << " devices, " << lanes << " lanes, " << count);
          all.expect_all(count);
          computed += count;
        }
        int64_t sum = 0;
        for (size_t i = 0; i < devices; ++i) {
          sum += all.images(i);
          EXPECT_EQ(all.fault(i), "");
        }
        EXPECT_EQ(sum, computed);
      }
    }
  }
}

// The first device holds its first chunk until the second one has computed all others.
TEST(DeviceSet, ASlowDeviceTakesFewer) {
  Devices all(2);
  all[0].before = [&](int) { wait_until([&] { return all[1].runs == kChunks - 1; }); };
  all[1].before = [&](int) { wait_until([&] { return all[0].runs == 1; }); };
  all.expect_all();
  EXPECT_LE(all.images(0), kBatch);
  EXPECT_EQ(all.images(0) + all.images(1), kCount);
}

TEST(DeviceSet, TheOthersComputeWhatAFailedOneHad) {
  for (const int lanes : {1, 3}) {
    for (int run = 0; run < 3; ++run) {
      SCOPED_TRACE(testing::Message() << lanes << " lanes, run " << run);
      Devices all(3, lanes);
      all[1].before = throws_at<DeviceError>(run, "it fell off the bus");
      // The others let it come that far.
      for (const size_t other : {0, 2})
        all[other].before = [&](int) { wait_until([&] { return all[1].runs > run; }); };
      all.expect_all();
      EXPECT_NE(all.fault(1).find("it fell off the bus"), std::string::npos) << all.fault(1);
      EXPECT_EQ(all.fault(0), "");
      EXPECT_FALSE(all.set().has(1));
      EXPECT_TRUE(all.set().has(2));
      const int64_t before = all.images(1);
      EXPECT_EQ(before + all.images(0) + all.images(2), kCount);
      all.expect_all();
      EXPECT_EQ(all.images(1), before) << "it takes no part any more";
    }
  }
}

// It fails when the others have nothing left to compute, and wait.
TEST(DeviceSet, OneThatFailsLastHandsItsChunkOver) {
  for (const int depth : {1, 2}) {
    Devices all(2, 1, depth);
    all[0].before = [&](int run) {
      if (run > 0) return;
      wait_until([&] { return all[1].runs >= kChunks - depth; });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      throw DeviceError("planted");
    };
    all[1].before = [&](int) { wait_until([&] { return all[0].runs == 1; }); };
    all.expect_all();
    EXPECT_EQ(all.images(0), 0);
    EXPECT_EQ(all.images(1), kCount);
  }
}

TEST(DeviceSet, IfAllFailTheErrorHasEachReason) {
  Devices all(2);
  all[0].before = throws_at<DeviceError>(0, "the first reason");
  all[1].before = throws_at<DeviceError>(2, "the second reason");
  int64_t told = 0;
  const auto run = [&] {
    all.run(kCount, [&](int64_t done) {
      told = done;
      return true;
    });
  };
  expect_error<DeviceError>(run, "every device failed: cpu: ");
  all.expect_answers(told);
  EXPECT_EQ(all.images(0), 0);
  EXPECT_EQ(all.images(1), 2 * kBatch) << "what it computed before the fault landed";
  EXPECT_LE(told, 2 * kBatch);
  for (const char* reason : {"the first reason", "the second reason"}) expect_error<DeviceError>(run, reason);
  EXPECT_EQ(all[0].runs + all[1].runs, 4) << "nothing ran again";
}

TEST(DeviceSet, OneWithoutMemoryTakesPartInTheNextCall) {
  Devices all(2);
  all[1].before = throws_at<MemoryError>(0, "too little");
  all[0].before = [&](int) { wait_until([&] { return all[1].runs > 0; }); };
  all.expect_all();
  EXPECT_EQ(all.images(1), 0);
  EXPECT_NE(all.fault(1).find("too little"), std::string::npos);
  EXPECT_TRUE(all.set().has(1));
  all[0].before = [&](int) { wait_until([&] { return all[1].runs > 1; }); };
  all.expect_all();
  EXPECT_GT(all.images(1), 0);

  Devices none(2);
  for (const size_t i : {0, 1})
    none[i].before = [](int run) {
      if (run == 0) throw MemoryError("too little");
    };
  expect_error<MemoryError>([&] { none.run(); }, "every device failed: ");
  none.expect_all();
}

TEST(DeviceSet, AnotherExceptionEndsTheCall) {
  Devices all(3);
  all[2].before = throws_at<std::runtime_error>(1, "a defect");
  for (const size_t other : {0, 1})
    all[other].before = [&](int) { wait_until([&] { return all[2].runs > 1; }); };
  expect_error<std::runtime_error>([&] { all.run(); }, "a defect");
  for (const size_t i : {0, 1, 2}) EXPECT_TRUE(all.set().has(i)) << "it is not the device's fault";
  all.expect_all();
}

// A feed of more lanes than the device has threads: the last thread serves the rest.
TEST(DeviceSet, ServesMoreLanesThanThreads) {
  for (const int lanes : {1, 4}) {
    DeviceSet set({Device::cpu()});
    ToyDevice toy(kBatch, lanes + set.threads_of_each());
    std::vector<float> images(kCount * kValues, 1), answers(images.size(), -1);
    EXPECT_EQ(set.run({toy.feed.get()}, images.data(), kCount, {answers.data()}, kValuesInAndOut, {}),
              kCount);
    EXPECT_EQ(answers, std::vector<float>(images.size(), 2));
  }
}

TEST(DeviceSet, ReportsProgressInTheCallersThread) {
  Devices all(3);
  std::vector<int64_t> told;
  const std::thread::id caller = std::this_thread::get_id();
  EXPECT_EQ(all.run(kCount,
                    [&](int64_t done) {
                      EXPECT_EQ(std::this_thread::get_id(), caller);
                      told.push_back(done);
                      return true;
                    }),
            kCount);
  EXPECT_EQ(told.front(), 0);
  EXPECT_EQ(told.back(), kCount);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
}

TEST(DeviceSet, EndsEarlyIfTheCallerReturnsFalse) {
  for (const int64_t last : {int64_t{0}, kBatch, 3 * kBatch}) {
    Devices all(2);
    std::atomic<bool> ended{false};
    for (const size_t i : {0, 1})
      all[i].before = [&](int run) {
        if (run >= 10) wait_until([&] { return ended.load(); });
      };
    int64_t told = -1;
    const int64_t done = all.run(100 * kBatch, [&](int64_t images) {
      told = images;
      ended = images >= last;
      return images < last;
    });
    EXPECT_GE(done, last);
    EXPECT_LE(done, 22 * kBatch) << "ten and one in flight of each";
    EXPECT_EQ(told, done) << "also those that landed afterwards";
    if (last == 0) {
      EXPECT_EQ(done, 0);
    }
    all.expect_answers(done);
    all.expect_all();
  }
}

TEST(DeviceSet, CallsTheCallerWhileNothingLands) {
  Devices all(2, Feed::kMaxLanes);  // a thread without a lane would leave, which wakes the caller
  std::atomic<bool> go_on{false};
  for (const size_t i : {0, 1}) all[i].before = [&](int) { wait_until([&] { return go_on.load(); }); };
  int asked = 0;
  const int64_t done = all.run(100 * kBatch, [&](int64_t) {
    if (++asked < 3) return true;
    go_on = true;
    return false;
  });
  EXPECT_LE(done, 2 * Feed::kMaxLanes * kBatch);
  EXPECT_GE(asked, 3);
  all.expect_answers(done);
}

TEST(DeviceSet, AnExceptionOfTheCallerLeavesNothingRunning) {
  Devices all(2);
  const auto run = [&] {
    all.run(kCount, [](int64_t done) -> bool {
      if (done > 0) throw InterruptedError("enough");
      return true;
    });
  };
  expect_error<InterruptedError>(run, "enough");
  all.expect_all();
}

TEST(DeviceSet, ASmallCallGoesToTheNextDeviceIfOneFails) {
  Devices all(3);
  std::vector<size_t> tried;
  const auto one = [&](size_t i) -> int64_t {
    tried.push_back(i);
    if (i == 0) throw DeviceError("planted");
    if (i == 1 && tried.size() == 2) throw MemoryError("too little");
    return 5;
  };
  EXPECT_EQ(all.set().on_one(one), 5);
  EXPECT_EQ(tried, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(all.images(2), 5);
  EXPECT_EQ(all.set().on_one(one), 5);
  EXPECT_EQ(tried, (std::vector<size_t>{0, 1, 2, 1})) << "the first is left out, the second has memory again";
  const auto none = [](size_t i) -> int64_t { throw DeviceError(concat("reason ", i)); };
  expect_error<DeviceError>([&] { all.set().on_one(none); }, "reason 2");
}

TEST(DeviceSet, PreparesEachDeviceInAThreadOfItsOwn) {
  Devices all(3);
  std::vector<std::thread::id> threads;
  const auto prepare = [&](size_t i) {
    threads.push_back(std::this_thread::get_id());
    if (i == 1) throw DeviceError("planted");
  };
  EXPECT_EQ(all.set().on_each(prepare), (std::vector<bool>{true, false, true}));
  threads.push_back(std::this_thread::get_id());
  std::sort(threads.begin(), threads.end());
  EXPECT_EQ(std::unique(threads.begin(), threads.end()) - threads.begin(), 4);
  EXPECT_EQ(all.set().on_each([](size_t) {}), (std::vector<bool>{true, false, true})) << "it is left out";
  EXPECT_THROW(all.set().on_each([](size_t) { throw std::runtime_error("a defect"); }), std::runtime_error);
}

}  // namespace
}  // namespace lenslet
