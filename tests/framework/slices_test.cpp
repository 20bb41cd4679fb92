// Passes on the CPU that compute their batch in slices: the bits of the whole batch at once, in less memory.
#include "framework/execution/slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "framework/base/parallel.h"
#include "framework/execution/profiler.h"
#include "framework/tensor/poison.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/fenced.h"

namespace lenslet {
namespace {

constexpr int64_t kValues = 128 * 128;

/// 64 KiB an image, so that 10 images of the largest layer, which reads two, fit a thread's share.
Graph forked() {
  Graph graph("forked", "x", {1, 128, 128});
  graph.add("a", std::make_unique<toys::ScaleLayer>(-2.0f), {"x"});
  graph.add("relu", std::make_unique<toys::ToyRelu>(), {"a"});
  graph.add("sum", std::make_unique<toys::AddLayer>(), {"relu", "x"});
  graph.add("out", std::make_unique<toys::ScaleLayer>(0.5f), {"sum"});
  return graph;
}

/// x / 2 where x is positive, else -x / 2.
float right(float x) { return x > 0 ? 0.5f * x : -0.5f * x; }

/// A layer that reads `bytes` of weights, and all but `unread` values of its input.
class HeavyLayer : public toys::ScaleLayer {
 public:
  explicit HeavyLayer(double bytes, double unread = 0) : ScaleLayer(1), bytes_(bytes), unread_(unread) {}
  Work work(const std::vector<Shape>& inputs) const override {
    Work work = ScaleLayer::work(inputs);
    work.bytes += bytes_ - unread_ * sizeof(float);
    work.unread = unread_;
    return work;
  }

 private:
  double bytes_, unread_;
};

class Slices : public testing::Test {
 protected:
  Slices() { set_num_threads(1); }
  ~Slices() override { set_num_threads(before_); }

  static BuildOptions of_batch(int64_t batch) {
    BuildOptions options;
    options.batch = batch;
    return options;
  }
  static float value(int64_t i) { return static_cast<float>(i % 10007) - 5000; }
  static void fill(Executable& executable) {
    const TensorView input = executable.input();
    for (int64_t i = 0; i < input.shape.num_elements(); ++i) input.data[i] = value(i);
    std::memset(executable.output().data, kNanByte, executable.output().bytes());
  }
  static void expect_right(const float* output, int64_t batch) {
    for (int64_t i = 0; i < batch * kValues; ++i) ASSERT_EQ(output[i], right(value(i))) << i;
  }

 private:
  const int before_ = num_threads();
};

TEST_F(Slices, EveryBatchIsComputedWhole) {
  const Graph graph = forked();
  for (const int64_t batch : {1, 10, 19, 20, 31, 64, 97}) {
    SCOPED_TRACE(batch);
    Executable executable(graph, of_batch(batch));
    EXPECT_EQ(executable.slices() > 1, batch >= 20);
    EXPECT_GE(executable.slices() * executable.slice_samples(), batch);
    for (const bool checked : {true, false, false}) {  // the input survives a pass
      if (checked) {
        fill(executable);
        executable.run_checked();
      } else {
        std::memset(executable.output().data, kNanByte, executable.output().bytes());
        executable.run();
      }
      expect_right(executable.output().data, batch);
    }
    // A caller's memory, with none after it.
    test::Fenced input(static_cast<size_t>(batch * kValues), test::Fence::kBehind),
        output(input.size(), test::Fence::kBehind);
    for (size_t i = 0; i < input.size(); ++i) input.data()[i] = value(static_cast<int64_t>(i));
    std::fill(output.begin(), output.end(), NAN);
    const Shape shape = executable.input().shape;
    std::memset(executable.input().data, kNanByte, executable.input().bytes());
    executable.run({input.data(), shape, Device::cpu()}, {output.data(), shape, Device::cpu()});
    expect_right(output.data(), batch);
    EXPECT_EQ(executable.steps()[0].inputs[0].data, executable.input().data) << "its own ends again";
    EXPECT_EQ(executable.steps().back().output.data, executable.output().data);
  }
}

TEST_F(Slices, AStepRunsOnTheSliceOfTheCall) {
  const Graph graph = forked();
  Executable executable(graph, of_batch(97));
  fill(executable);
  for (int64_t slice = executable.slices(); slice-- > 0;) {
    for (size_t i = 0; i < executable.steps().size(); ++i) executable.run_step(i, nullptr, slice);
  }
  expect_right(executable.output().data, 97);
}

TEST_F(Slices, TakeMemoryForASliceAndCountTheWorkOfTheBatch) {
  const Graph graph = forked();
  BuildOptions options = of_batch(100);
  const Executable sliced(graph, options);
  options.keep_activations = true;
  const Executable whole(graph, options);
  EXPECT_EQ(whole.slices(), 1);
  EXPECT_EQ(sliced.slice_samples(), 10);
  EXPECT_LE(sliced.plan().activation_bytes, static_cast<size_t>((2 * 100 + 2 * 10) * kValues * 4));
  ASSERT_EQ(sliced.steps().size(), whole.steps().size());
  for (size_t i = 0; i < whole.steps().size(); ++i) {
    EXPECT_EQ(sliced.steps()[i].work.bytes, whole.steps()[i].work.bytes);
    EXPECT_EQ(sliced.steps()[i].work.flops, whole.steps()[i].work.flops);
    EXPECT_EQ(sliced.steps()[i].work.working_set, whole.steps()[i].work.bytes / 10);
  }
}

TEST_F(Slices, AreLargeEnoughForTheThreadsAndTheWeights) {
  const Graph graph = forked();
  EXPECT_EQ(slice_samples(graph, of_batch(1000)), 10);
  set_num_threads(3);
  EXPECT_EQ(slice_samples(graph, of_batch(1000)), 25) << "near 32, and divides 1,000";
  set_num_threads(1);
  Graph huge("huge", "x", {1024, 1024});
  huge.add("a", std::make_unique<toys::ToyRelu>(), {"x"});
  EXPECT_EQ(slice_samples(huge, of_batch(8)), 8) << "not even one sample fits";
  Graph heavy("heavy", "x", {1, 128, 128});
  heavy.add("a", std::make_unique<HeavyLayer>(1e6), {"x"});
  EXPECT_EQ(slice_samples(heavy, of_batch(1024)), 16);
  Graph heavier("heavier", "x", {1, 128, 128});
  heavier.add("a", std::make_unique<HeavyLayer>(1e7), {"x"});
  EXPECT_EQ(slice_samples(heavier, of_batch(1024)), 1024) << "each slice would read the weights again";
  // Just too many weights: what a layer leaves unread of its input is none of them.
  for (const double unread : {0.0, kValues / 2.0}) {
    Graph skipping("skipping", "x", {1, 128, 128});
    skipping.add("a", std::make_unique<HeavyLayer>(1.06e6, unread), {"x"});
    EXPECT_EQ(slice_samples(skipping, of_batch(1024)), 1024) << unread;
  }
}

TEST_F(Slices, AreAddedUpByTheProfiler) {
  const Graph graph = forked();
  Executable executable(graph, of_batch(60));
  fill(executable);
  ProfileOptions options;
  options.warmup_ms = options.min_time_ms = 1;
  options.min_passes = 3;
  options.max_passes = 3;
  const Profile result = profile(executable, options);
  ASSERT_EQ(result.layers.size(), executable.steps().size());
  EXPECT_EQ(result.steps, executable.steps().size() * 6);
  EXPECT_EQ(result.spans.size(), 1 + result.steps);
  EXPECT_GT(result.layers_ns, result.uninstrumented.min / 3) << "of all slices, not of one";
  expect_right(executable.output().data, 60);
}

}  // namespace
}  // namespace lenslet
