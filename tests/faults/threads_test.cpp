// Executables in several host threads, on one device, on two, and on the CPU beside a GPU: every result equals that of
// a single thread bit for bit. Compiled once for each kind of device.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "models/fused_lenet5/resident.h"
#include "tests/support/host_values.h"
#include "tests/support/lenet5.h"
#include "tests/support/test_device.h"

namespace lenslet {
namespace {

const int kRounds = kDevice.is_cuda() ? 200 : 20;
constexpr int64_t kBatch = 64, kPixels = kLenet5Pixels;

std::vector<uint8_t> pictures(uint32_t seed) {
  std::vector<uint8_t> pixels(static_cast<size_t>(kBatch * kPixels));
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
  return pixels;
}

/// One executable with its own inputs.
class Worker {
 public:
  Worker(const BuildOptions& options, uint32_t seed)
      : executable_(lenet5(), options), pixels_(pictures(seed)) {
    normalised_.resize(pixels_.size());
    normalise_mnist(pixels_.data(), kBatch, normalised_.data());
  }
  std::vector<float> logits() {
    const TensorView input = executable_.input();
    const bool bytes = input.type == ElementType::kUint8;
    copy_bytes(input.data, input.device,
               bytes ? static_cast<const void*>(pixels_.data()) : normalised_.data(), Device::cpu(),
               input.bytes(), executable_.stream());
    executable_.run();
    return host_values(executable_.output(), executable_.stream());
  }
  const Plan& plan() const { return executable_.plan(); }

 private:
  Executable executable_;
  std::vector<uint8_t> pixels_;
  std::vector<float> normalised_;
};

BuildOptions options_on(Device device) { return lenslet::options_on(device, kBatch); }

/// Ways to compute on a device, by name.
Ways ways(Device device) {
  Ways all = {{"auto", options_on(device)}};
  for (const auto& way : layered_ways(options_on(device)))
    if (lenet5_if_available(way.second)) all.push_back(way);
  BuildOptions fused = options_on(device);
  fused.execution = Plan::kFused;
  all.emplace_back("fused", fused);
  fused.input = ElementType::kUint8;
  all.emplace_back("fused from bytes", fused);
  if (device.is_cuda()) {
    BuildOptions graph = options_on(device);
    graph.cuda_graph = true;
    all.emplace_back("captured graph", graph);
  }
  return all;
}

/// Runs `bodies` concurrently, each in a thread of its own, and reports their exceptions.
void run_at_once(std::vector<std::function<void()>> bodies) {
  std::vector<std::string> failures(bodies.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < bodies.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        bodies[i]();
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

/// Runs each worker alone, then all of them concurrently, repeatedly.
void expect_the_same_bits_at_once(const std::string& name, std::vector<std::unique_ptr<Worker>> workers) {
  std::vector<std::vector<float>> alone;
  for (const auto& worker : workers) alone.push_back(worker->logits());
  std::vector<int> different(workers.size(), 0);
  std::vector<std::function<void()>> bodies;
  for (size_t i = 0; i < workers.size(); ++i) {
    bodies.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round)
        different[i] += same_bits(workers[i]->logits(), alone[i]) ? 0 : 1;
    });
  }
  run_at_once(bodies);
  for (size_t i = 0; i < workers.size(); ++i) {
    EXPECT_EQ(different[i], 0) << name << ", thread " << i << ": runs with other bits than alone";
  }
}

using Threads = DeviceTest<>;

TEST_F(Threads, TwoOnOneDevice) {
  for (const auto& [name, options] : ways(kDevice)) {
    std::vector<std::unique_ptr<Worker>> workers;
    for (const uint32_t seed : {1u, 2u}) workers.push_back(std::make_unique<Worker>(options, seed));
    expect_the_same_bits_at_once(name, std::move(workers));
  }
}

TEST_F(Threads, DifferentPlansOnOneDevice) {
  std::vector<std::unique_ptr<Worker>> workers;
  uint32_t seed = 10;
  for (const auto& way : ways(kDevice)) workers.push_back(std::make_unique<Worker>(way.second, ++seed));
  expect_the_same_bits_at_once("all plans", std::move(workers));
}

TEST_F(Threads, BuildAtOnce) {
  const BuildOptions options = options_on(kDevice);
  const std::vector<float> expected = Worker(options, 5).logits();
  std::vector<int> different(4, 0);
  std::vector<std::function<void()>> bodies;
  for (size_t i = 0; i < different.size(); ++i) {
    bodies.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round)
        different[i] += same_bits(Worker(options, 5).logits(), expected) ? 0 : 1;
    });
  }
  run_at_once(bodies);
  for (const int count : different) EXPECT_EQ(count, 0);
}

TEST_F(Threads, TheCpuBesideAGpu) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "the same test runs on the GPU's side";
  std::vector<std::unique_ptr<Worker>> workers;
  workers.push_back(std::make_unique<Worker>(options_on(kDevice), 1));
  workers.push_back(std::make_unique<Worker>(options_on(Device::cpu()), 1));
  expect_the_same_bits_at_once("GPU and CPU", std::move(workers));
}

TEST_F(Threads, OneGraphOnTwoDevices) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "there is one CPU";
  if (cuda_status().devices.size() < 2) GTEST_SKIP() << "this machine has one GPU";
  const auto second = ways(Device::cuda(1));
  size_t next = 0;
  for (const auto& [name, options] : ways(kDevice)) {
    ASSERT_EQ(second[next].first, name);
    std::vector<std::unique_ptr<Worker>> workers;
    workers.push_back(std::make_unique<Worker>(options, 1));
    // The second executable replays the choices that a library made by timing in the first, so that their bits can be
    // compared.
    BuildOptions there = second[next++].second;
    const Plan plan = workers[0]->plan();
    there.plan = &plan;
    workers.push_back(std::make_unique<Worker>(there, 1));
    EXPECT_TRUE(same_bits(workers[0]->logits(), workers[1]->logits())) << name << ": the devices differ";
    expect_the_same_bits_at_once(name, std::move(workers));
  }
}

TEST_F(Threads, ResidentKernelsBesideEachOther) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "a resident kernel needs a GPU";
  if (!gpu_has_clusters()) GTEST_SKIP() << "clusters need compute capability 9.0";
  const std::vector<uint8_t> pixels = pictures(3);
  const auto answers = [&](ResidentLenet5& kernel) {
    std::vector<Prediction> predictions(static_cast<size_t>(kBatch));
    kernel.classify(pixels.data(), kBatch, predictions.data());
    return predictions;
  };
  ResidentLenet5 first(builtin_lenet5_weights()), second(builtin_lenet5_weights());
  const std::vector<Prediction> expected = answers(first);
  std::vector<int> different(3, 0);
  Worker plain(options_on(kDevice), 4);
  const std::vector<float> logits = plain.logits();
  const auto ask = [&](ResidentLenet5& kernel, int& count) {
    for (int round = 0; round < kRounds; ++round) count += same_bits(answers(kernel), expected) ? 0 : 1;
  };
  run_at_once({[&] { ask(first, different[0]); }, [&] { ask(second, different[1]); },
               [&] {
                 for (int round = 0; round < kRounds; ++round)
                   different[2] += same_bits(plain.logits(), logits) ? 0 : 1;
               }});
  EXPECT_EQ(different, (std::vector<int>{0, 0, 0}));
}

}  // namespace
}  // namespace lenslet
