// Batcher: what is computed together, in which order, and when it refuses. A computation that waits for the test makes
// the queue's state certain, whatever the machine's speed.
#include "apps/lenslet/serve/batches/batcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "apps/lenslet/serve/object_pool.h"
#include "apps/lenslet/serve/task_queue.h"

namespace lenslet::serve {
namespace {

using Outputs = std::vector<float>;

/// Doubles its inputs of one value each, and triples pixels, in passes that begin only after let().
class Gate {
 public:
  Outputs operator()(const Samples& inputs, int64_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++began_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return permitted_ > 0; });
    --permitted_;
    sizes_.push_back(count);
    if (fails_) throw std::runtime_error("broken");
    Outputs outputs;
    for (const float value : inputs.values) outputs.push_back(2 * value);
    for (const uint8_t pixel : inputs.pixels) outputs.push_back(3 * static_cast<float>(pixel));
    return outputs;
  }
  void let(int passes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    permitted_ += passes;
    changed_.notify_all();
  }
  void wait_for(int passes) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return began_ >= passes; });
  }
  void fail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    fails_ = true;
  }
  std::vector<int64_t> sizes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sizes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int began_ = 0, permitted_ = 0;
  bool fails_ = false;
  std::vector<int64_t> sizes_;
};

BatcherOptions options(int64_t max_batch, int64_t max_queue = 1000) {
  BatcherOptions result;
  result.max_batch = max_batch;
  result.max_queue = max_queue;
  return result;
}

/// The outputs of a request, or an exception with the error; an invalid future if it was refused.
std::future<Outputs> submit(Batcher& batcher, const Samples& samples) {
  auto promise = std::make_shared<std::promise<Outputs>>();
  std::future<Outputs> result = promise->get_future();
  const bool taken =
      batcher.submit(samples, static_cast<int64_t>(samples.values.size() + samples.pixels.size()),
                     [promise](const Batcher::Outputs& outputs, const std::string& error) {
                       if (error.empty()) return promise->set_value({outputs.begin(), outputs.end()});
                       promise->set_exception(std::make_exception_ptr(std::runtime_error(error)));
                     });
  return taken ? std::move(result) : std::future<Outputs>();
}
std::future<Outputs> submit(Batcher& batcher, const Outputs& values) {
  return submit(batcher, Samples{values, {}});
}
std::future<Outputs> submit_pixels(Batcher& batcher, const std::vector<uint8_t>& pixels) {
  return submit(batcher, Samples{{}, pixels});
}

TEST(Batcher, JoinsWhatWaitsAndReturnsToEachItsOwn) {
  Gate gate;
  Batcher batcher(options(4), std::ref(gate));
  auto first = submit(batcher, {1});
  gate.wait_for(1);  // the first is being computed: the next four wait
  auto a = submit(batcher, {2}), b = submit(batcher, {3, 4}), c = submit(batcher, {5, 6}),
       d = submit(batcher, {7});
  EXPECT_EQ(batcher.counts().waiting, 6);
  gate.let(3);
  EXPECT_EQ(first.get(), (Outputs{2}));
  EXPECT_EQ(a.get(), (Outputs{4}));
  EXPECT_EQ(b.get(), (Outputs{6, 8}));
  EXPECT_EQ(c.get(), (Outputs{10, 12}));
  EXPECT_EQ(d.get(), (Outputs{14}));
  // The third request did not fit the second batch, and none passed it.
  EXPECT_EQ(gate.sizes(), (std::vector<int64_t>{1, 3, 3}));
  EXPECT_EQ(batcher.counts().passes, 3);
  EXPECT_EQ(batcher.counts().samples, 7);
  EXPECT_EQ(batcher.counts().waiting, 0);
}

TEST(Batcher, ComputesPixelsApartFromValues) {
  Gate gate;
  Batcher batcher(options(4), std::ref(gate));
  auto first = submit(batcher, {1});
  gate.wait_for(1);  // the rest waits
  auto a = submit_pixels(batcher, {2}), b = submit(batcher, {3}), c = submit_pixels(batcher, {4, 5}),
       d = submit(batcher, {6}), e = submit_pixels(batcher, {7, 8});
  gate.let(10);
  EXPECT_EQ(first.get(), (Outputs{2}));
  EXPECT_EQ(a.get(), (Outputs{6}));
  EXPECT_EQ(b.get(), (Outputs{6}));
  EXPECT_EQ(c.get(), (Outputs{12, 15}));
  EXPECT_EQ(d.get(), (Outputs{12}));
  EXPECT_EQ(e.get(), (Outputs{21, 24}));
  // a and c, for e does not fit; b and d, which arrived before e; e.
  EXPECT_EQ(gate.sizes(), (std::vector<int64_t>{1, 3, 2, 2}));
  EXPECT_EQ(batcher.counts().samples, 8);
  EXPECT_EQ(batcher.counts().waiting, 0);
}

TEST(Batcher, ComputesALargeRequestAlone) {
  Gate gate;
  gate.let(10);
  Batcher batcher(options(2), std::ref(gate));
  EXPECT_EQ(submit(batcher, {1, 2, 3, 4, 5}).get(), (Outputs{2, 4, 6, 8, 10}));
  EXPECT_EQ(gate.sizes(), (std::vector<int64_t>{5}));
}

TEST(Batcher, RefusesBeyondItsQueue) {
  Gate gate;
  Batcher batcher(options(4, 3), std::ref(gate));
  auto computed = submit(batcher, {0});
  gate.wait_for(1);
  auto a = submit(batcher, {1, 2}), b = submit(batcher, {3});
  EXPECT_TRUE(a.valid() && b.valid());
  EXPECT_FALSE(submit(batcher, {4}).valid());
  EXPECT_EQ(batcher.counts().refused, 1);
  gate.let(10);
  EXPECT_EQ(a.get(), (Outputs{2, 4}));
  EXPECT_EQ(b.get(), (Outputs{6}));
  // A request larger than the whole queue is taken when nothing waits.
  EXPECT_EQ(submit(batcher, {1, 1, 1, 1, 1}).get().size(), 5u);
}

TEST(Batcher, WaitsForMoreUntilTheBatchIsFull) {
  Gate gate;
  gate.let(10);
  BatcherOptions patient = options(3);
  patient.max_delay = std::chrono::hours(1);
  Batcher batcher(patient, std::ref(gate));
  auto a = submit(batcher, {1}), b = submit(batcher, {2});
  EXPECT_EQ(a.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  auto c = submit(batcher, {3});
  EXPECT_EQ(a.get(), (Outputs{2}));
  EXPECT_EQ(b.get(), (Outputs{4}));
  EXPECT_EQ(c.get(), (Outputs{6}));
  EXPECT_EQ(gate.sizes(), (std::vector<int64_t>{3}));
}

TEST(Batcher, EndsTheWaitAfterTheDelay) {
  Gate gate;
  gate.let(10);
  BatcherOptions patient = options(3);
  patient.max_delay = std::chrono::milliseconds(20);
  Batcher batcher(patient, std::ref(gate));
  EXPECT_EQ(submit(batcher, {1}).get(), (Outputs{2}));
}

TEST(Batcher, ComputesWhatWaitsBeforeItEnds) {
  Gate gate;
  std::future<Outputs> first, second;
  {
    BatcherOptions patient = options(3);
    patient.max_delay = std::chrono::hours(1);
    Batcher batcher(patient, std::ref(gate));
    first = submit(batcher, {1});
    second = submit(batcher, {2});
    gate.let(10);
  }
  EXPECT_EQ(first.get(), (Outputs{2}));
  EXPECT_EQ(second.get(), (Outputs{4}));
}

TEST(Batcher, ReportsAFailureToEveryRequestOfTheBatch) {
  Gate gate;
  gate.fail();
  Batcher batcher(options(4), std::ref(gate));
  auto first = submit(batcher, {0});
  gate.wait_for(1);
  auto a = submit(batcher, {1}), b = submit(batcher, {2});
  gate.let(10);
  for (auto* request : {&first, &a, &b}) EXPECT_THROW(request->get(), std::runtime_error);
}

/// Triples one value on the thread that brings it, unless it is busy.
struct AtOnce {
  bool operator()(const Samples& input, Outputs& outputs) {
    if (busy) return false;
    thread = std::this_thread::get_id();
    if (input.values.at(0) < 0) throw std::runtime_error("broken");
    outputs = {3 * input.values.at(0)};
    return true;
  }
  bool busy = false;
  std::thread::id thread;
};

TEST(Batcher, ComputesOneSampleAtOnceOnTheThreadThatBringsIt) {
  Gate gate;
  gate.let(10);
  AtOnce at_once;
  Batcher batcher(options(4), std::ref(gate), std::ref(at_once));
  auto single = submit(batcher, {5});
  ASSERT_EQ(single.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(single.get(), (Outputs{15}));
  EXPECT_EQ(at_once.thread, std::this_thread::get_id());
  EXPECT_THROW(submit(batcher, {-1}).get(), std::runtime_error);
  EXPECT_TRUE(gate.sizes().empty());
  EXPECT_EQ(submit(batcher, {1, 2}).get(), (Outputs{2, 4}));  // several samples: a pass of the batcher
  at_once.busy = true;
  EXPECT_EQ(submit(batcher, {5}).get(), (Outputs{10}));
  EXPECT_EQ(gate.sizes(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(batcher.counts().passes, 4);
  EXPECT_EQ(batcher.counts().samples, 5);
}

TEST(Batcher, ComputesNothingAtOnceWhereSamplesWaitForOthers) {
  Gate gate;
  gate.let(10);
  AtOnce at_once;
  BatcherOptions patient = options(2);
  patient.max_delay = std::chrono::hours(1);
  Batcher batcher(patient, std::ref(gate), std::ref(at_once));
  auto a = submit(batcher, {1}), b = submit(batcher, {2});
  EXPECT_EQ(a.get(), (Outputs{2}));
  EXPECT_EQ(b.get(), (Outputs{4}));
  EXPECT_EQ(gate.sizes(), (std::vector<int64_t>{2}));
}

/// Keeps its tasks for the test, or has no memory for them.
class Inbox : public Executor {
 public:
  void run(std::function<void()> task) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (full_) throw std::bad_alloc();
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  /// Runs the tasks on this thread, once there are so many or they do not come.
  void run_all(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return tasks_.size() >= count; });
    EXPECT_EQ(tasks_.size(), count);
    for (const auto& task : std::exchange(tasks_, {})) task();
  }
  void be_full() { full_ = true; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> tasks_;
  bool full_ = false;
};

/// What the receivers of some requests got, and on which thread.
struct Received {
  void submit(Batcher& batcher, const Outputs& values, Inbox& inbox) {
    const auto count = static_cast<int64_t>(values.size());
    const auto receive = [this](const Batcher::Outputs& its, const std::string& error) {
      threads.insert(std::this_thread::get_id());
      outputs.push_back({its.begin(), its.end()});
      errors.push_back(error);
    };
    EXPECT_TRUE(batcher.submit({values, {}}, count, receive, &inbox));
  }
  std::vector<Outputs> outputs;
  std::vector<std::string> errors;
  std::set<std::thread::id> threads;
};

TEST(Batcher, GivesEachThreadItsOutputsOfAPassInOneTask) {
  Gate gate;
  Inbox a, b;
  Received of_a, of_b;
  Batcher batcher(options(8), std::ref(gate));
  auto first = submit(batcher, {0});
  gate.wait_for(1);  // the rest waits, and is one pass
  of_a.submit(batcher, {1}, a);
  of_b.submit(batcher, {2, 3}, b);
  auto none = submit(batcher, {4});
  of_a.submit(batcher, {5, 6}, a);
  of_b.submit(batcher, {7}, b);
  gate.let(2);
  EXPECT_EQ(none.get(), (Outputs{8}));
  a.run_all(1);
  b.run_all(1);
  EXPECT_EQ(of_a.outputs, (std::vector<Outputs>{{2}, {10, 12}}));
  EXPECT_EQ(of_b.outputs, (std::vector<Outputs>{{4, 6}, {14}}));
  for (const Received& received : {of_a, of_b}) {
    EXPECT_EQ(received.errors, (std::vector<std::string>{"", ""}));
    EXPECT_EQ(received.threads, (std::set<std::thread::id>{std::this_thread::get_id()}));
  }
}

TEST(Batcher, ReportsAFailureToEachThread) {
  Gate gate;
  gate.fail();
  gate.let(1);
  Inbox inbox;
  Received received;
  Batcher batcher(options(8), std::ref(gate));
  received.submit(batcher, {1}, inbox);
  inbox.run_all(1);
  EXPECT_EQ(received.outputs, (std::vector<Outputs>{{}}));
  EXPECT_EQ(received.errors, (std::vector<std::string>{"broken"}));
}

TEST(Batcher, CallsTheReceiversItselfWithoutMemoryForATask) {
  Gate gate;
  gate.let(1);
  Inbox inbox;
  inbox.be_full();
  Received received;
  {
    Batcher batcher(options(8), std::ref(gate));
    received.submit(batcher, {1}, inbox);
  }
  EXPECT_EQ(received.outputs, (std::vector<Outputs>{{2}}));
  EXPECT_EQ(received.errors, (std::vector<std::string>{""}));
  EXPECT_EQ(received.threads.count(std::this_thread::get_id()), 0u);
}

TEST(TaskQueue, RunsInOrderAndRefusesBeyondItsLength) {
  std::promise<void> began, go_on;
  std::vector<int> order;
  {
    TaskQueue queue(2);
    EXPECT_TRUE(queue.submit([&] {
      began.set_value();
      go_on.get_future().wait();
      order.push_back(0);
    }));
    began.get_future().wait();
    for (int i = 1; i <= 4; ++i) EXPECT_EQ(queue.submit([&order, i] { order.push_back(i); }), i <= 2);
    go_on.set_value();
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(TaskQueue, RunsAsManyAtATimeAsItHasThreads) {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  {
    TaskQueue queue(8, 3);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(queue.submit([&] {  // none ends before all run
        std::unique_lock<std::mutex> lock(mutex);
        ++running;
        changed.notify_all();
        changed.wait(lock, [&] { return running == 3; });
      }));
    }
  }
  EXPECT_EQ(running, 3);
}

TEST(ObjectPool, GivesEachThreadItsOwnAndNoneToTwo) {
  ObjectPool<int> ones;
  EXPECT_FALSE(ones.with_free([](int&) {}));
  for (int i = 0; i < 3; ++i) ones.add(i);
  int mine = -1, again = -1;
  EXPECT_TRUE(ones.with_free([&](int& one) {
    mine = one;
    int second = -1, third = -1;
    EXPECT_TRUE(ones.with_free([&](int& other) {
      second = other;
      EXPECT_TRUE(ones.with_free([&](int& last) {
        third = last;
        EXPECT_FALSE(ones.with_free([](int&) {}));
      }));
    }));
    EXPECT_EQ(mine + second + third, 3);
    EXPECT_NE(second, mine);
    EXPECT_NE(third, mine);
  }));
  // Free again, also after an exception; and this thread goes on with the same one, whatever others use.
  EXPECT_THROW(ones.with_free([](int&) { throw std::runtime_error("broken"); }), std::runtime_error);
  EXPECT_TRUE(ones.with_free([&](int& one) {
    again = one;
    int others = -1;
    std::thread([&] { EXPECT_TRUE(ones.with_free([&](int& other) { others = other; })); }).join();
    EXPECT_NE(others, again);
  }));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ones.with_free([&](int& one) { EXPECT_EQ(one, again); }));
}

}  // namespace
}  // namespace lenslet::serve
