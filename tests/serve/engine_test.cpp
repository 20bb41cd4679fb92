// Engine: how the model behind the server divides samples between its passes, and the bits that they give.
#include "apps/lenslet/serve/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "framework/base/parallel.h"
#include "layers/reference/fill.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/files.h"
#include "tests/support/sanitizers.h"

namespace lenslet::serve::test {
namespace {

// Whether a pass of LeNet-5 takes microseconds in this build.
#if defined(__OPTIMIZE__)
constexpr bool kIsFast = !lenslet::test::kSanitized;
#else
constexpr bool kIsFast = false;
#endif

ServeOptions options_of(const std::string& model = "", int64_t max_batch = 16) {
  ServeOptions options;
  options.device = "cpu";
  options.model = model;
  options.max_batch = max_batch;
  return options;
}

std::string kept_model(const std::string& name) { return LENSLET_SOURCE_DIR "/tests/models/onnx/" + name; }

/// One convolution of planes so small that a single sample suits another backend than a batch.
std::string small_planes() {
  using namespace lenslet::test::onnx;
  constexpr int64_t kChannels = 16;
  const auto weights = reference::uniform_values(static_cast<size_t>(kChannels * kChannels * 9), 5);
  const GraphParts parts = {{node("Conv", {"x", "w"}, "y", {attribute("pads", {1, 1, 1, 1})})},
                            {floats("w", {kChannels, kChannels, 3, 3}, weights)},
                            {value("x", {-1, kChannels, 4, 4})},
                            {value("y", {-1, kChannels, 4, 4})}};
  return lenslet::test::temporary_file("small planes+1.onnx", model_of(parts).bytes());
}

class ServeEngine : public testing::Test {
 protected:
  ServeEngine() { set_num_threads(2); }
  ~ServeEngine() override { set_num_threads(before_); }

  /// Random values of samples, and the outputs of each, computed alone.
  void ask_for_each(Engine& engine, int64_t samples) {
    input_ = engine.signature().input_shape.num_elements();
    values_ = reference::uniform_values(static_cast<size_t>(samples * input_), 3);
    alone_.clear();
    for (int64_t i = 0; i < samples; ++i) alone_.push_back(engine.infer(sample(i), 1));
  }
  Samples samples_from(int64_t i, int64_t count) const {
    const auto first = values_.begin() + i * input_;
    return {{first, first + count * input_}, {}};
  }
  Samples sample(int64_t i) const { return samples_from(i, 1); }
  /// The first samples together have the bits of each alone.
  void expect_same_bits(Engine& engine, int64_t count) {
    const std::vector<float> together = engine.infer(samples_from(0, count), count);
    std::vector<float> expected;
    for (int64_t i = 0; i < count; ++i) {
      const std::vector<float>& one = alone_[static_cast<size_t>(i)];
      expected.insert(expected.end(), one.begin(), one.end());
    }
    EXPECT_EQ(together, expected) << count << " samples";
  }

  std::vector<float> values_;
  std::vector<std::vector<float>> alone_;
  int64_t input_ = 0;

 private:
  const int before_ = num_threads();
};

TEST_F(ServeEngine, DividesEveryCountBetweenItsPasses) {
  Engine engine(options_of());
  ask_for_each(engine, 70);
  for (const int64_t count : {1, 2, 3, 4, 5, 7, 15, 16, 17, 21, 32, 63, 70}) expect_same_bits(engine, count);
}

TEST_F(ServeEngine, GivesABatchTheBitsOfItsSamples) {
  for (const std::string& model : {small_planes(), kept_model("mean_pool.onnx")}) {
    Engine engine(options_of(model));
    ASSERT_TRUE(engine.same_bits()) << model;
    ask_for_each(engine, 21);
    for (const int64_t count : {4, 16, 21}) expect_same_bits(engine, count);
    std::vector<float> outputs;
    if (engine.infer_at_once(sample(7), outputs)) {
      EXPECT_EQ(outputs, alone_[7]) << model;
    }
  }
}

TEST_F(ServeEngine, ComputesSamplesAtOnceOnEveryThread) {
  Engine engine(options_of());
  std::vector<float> outputs;
  if (!engine.infer_at_once({std::vector<float>(28 * 28), {}}, outputs)) {
    ASSERT_FALSE(kIsFast);
    GTEST_SKIP() << "a pass takes longer than it is worth in this build";
  }
  ask_for_each(engine, 40);
  std::vector<std::thread> threads;
  for (int turn = 0; turn < 2; ++turn) {
    threads.emplace_back([&] {  // as many as there are passes: each finds one
      std::vector<float> own;
      for (int64_t i = 0; i < 40; ++i) {
        EXPECT_TRUE(engine.infer_at_once(sample(i), own)) << i;
        EXPECT_EQ(own, alone_[static_cast<size_t>(i)]) << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ServeEngine, HandsSamplesOfSlowNetworksOver) {
  Engine engine(options_of(kept_model("resnet20.onnx"), 1));
  std::vector<float> outputs;
  const std::vector<float> zeros(static_cast<size_t>(engine.signature().input_shape.num_elements()));
  EXPECT_FALSE(engine.infer_at_once({zeros, {}}, outputs));
}

TEST_F(ServeEngine, NamesAndBoundsItsModel) {
  ServeOptions options = options_of(small_planes(), 16);
  options.max_queue = 8;
  const Engine planes(options);
  EXPECT_EQ(planes.signature().model, "small_planes_1");
  EXPECT_EQ(planes.signature().input, "x");
  EXPECT_EQ(planes.signature().input_shape, Shape({16, 4, 4}));
  EXPECT_EQ(planes.signature().max_samples, 16);
  options = options_of();
  options.max_queue = 40;
  Engine digits(options);
  EXPECT_EQ(digits.signature().model, "lenet5");
  EXPECT_EQ(digits.signature().max_samples, 40);
  EXPECT_NE(digits.describe().find("robust"), std::string::npos) << digits.describe();
}

}  // namespace
}  // namespace lenslet::serve::test
