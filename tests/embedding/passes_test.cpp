// How calls become passes: memory used in place, passes of any size, what is kept between calls.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "api/device_lanes.h"
#include "api/model.h"
#include "api/model_setup.h"
#include "layers/conv/conv_registry.h"
#include "models/prediction.h"
#include "tests/embedding/model_options.h"
#include "tests/embedding/pictures.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/expect_error.h"
#include "tests/support/lenet5.h"

namespace lenslet {
namespace {

using test::kPixels;
using test::on_cpu;
using test::pictures;

// Exactly so many values, at the smallest legal alignment, so that a sanitizer detects a read beyond them.
template <typename T>
class ExactArray {
 public:
  explicit ExactArray(size_t count, const T* values = nullptr)
      : bytes_(new char[(count + 1) * sizeof(T)]), count_(count) {
    if (values) std::memcpy(data(), values, count * sizeof(T));
  }
  T* data() { return reinterpret_cast<T*>(bytes_.get() + sizeof(T)); }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t count_;
};

std::vector<std::string> all_backends() {
  std::vector<std::string> names = test::conv_backends();
  names.emplace_back();  // the whole-network plan
  return names;
}

Model cpu_model_of(const std::string& backend, int64_t max_batch = 0) {
  return Model::built_in(on_cpu("auto", backend, max_batch));
}

TEST(Passes, ReadAndWriteMemoryOfAnyAlignmentToItsLastElement) {
  for (const std::string& backend : all_backends()) {
    SCOPED_TRACE(backend);
    Model model = cpu_model_of(backend);
    for (const size_t count : {1, 5, 20}) {
      ExactArray<uint8_t> pixels(count * kPixels, pictures().pixels.data());
      ExactArray<float> images(count * kPixels, pictures().images.data()), logits(count * 10);
      ExactArray<Prediction> predictions(count);
      model.predict(pixels.data(), static_cast<int64_t>(count), predictions.data());
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(predictions.data()[i].label, pictures().digits[i]);
      model.logits(images.data(), static_cast<int64_t>(count), logits.data());

      // The same bits as from the executable's own memory.
      std::vector<float> own(count * 10);
      alignas(Buffer::kAlignment) static float aligned[20 * kPixels];
      std::memcpy(aligned, images.data(), images.bytes());
      model.logits(aligned, static_cast<int64_t>(count), own.data());
      EXPECT_EQ(std::memcmp(own.data(), logits.data(), logits.bytes()), 0);
      EXPECT_EQ(std::memcmp(images.data(), pictures().images.data(), images.bytes()), 0) << "input changed";
    }
  }
}

TEST(Passes, OfOneSizeGiveTheBitsThatPassesOfAnotherGive) {
  Model whole = cpu_model_of("direct"), cut = cpu_model_of("direct", 7), single = cpu_model_of("direct", 1);
  std::vector<float> a(200), b(200), c(200);
  whole.logits(pictures().pixels.data(), 20, a.data());
  cut.logits(pictures().pixels.data(), 20, b.data());
  single.logits(pictures().pixels.data(), 20, c.data());
  EXPECT_EQ(a, b) << "the backends named direct promise the same bits in every batch";
  EXPECT_EQ(a, c);
}

TEST(Passes, KeptPassesDoNotAllocate) {
  for (const std::string& backend : all_backends()) {
    // A library may allocate.
    if (!backend.empty() && find_conv_backend(DeviceKind::kCpu, backend).is_module()) continue;
    SCOPED_TRACE(backend);
    Model model = cpu_model_of(backend);
    std::vector<Prediction> predictions(20);
    std::vector<float> logits(200);
    const auto round = [&] {
      for (const int64_t count : {1, 3, 20, 11})
        model.predict(pictures().pixels.data(), count, predictions.data());
    };
    round();
    round();
    {
      const AllocationCounter counter;
      round();
      EXPECT_EQ(counter.allocations(), 0) << "four sizes in turn are kept";
    }
    const AllocationCounter counter;
    model.predict(pictures().pixels.data(), 2, predictions.data());
    EXPECT_GT(counter.allocations(), 0) << "a fifth is prepared for";
  }
}

TEST(Passes, FromBytesToClassesCopyNothingOnTheCpu) {
  constexpr int64_t kBatch = 8;
  Model model = cpu_model_of("", kBatch);
  Executable& pass = model.executable(kBatch);
  ASSERT_EQ(pass.plan().input, ElementType::kUint8);
  ASSERT_EQ(pass.plan().output, kPrediction);
  const auto own = [](ConstTensorView view) {
    return std::string(reinterpret_cast<const char*>(view.data), view.bytes());
  };
  std::memset(pass.input().data, 0x5a, pass.input().bytes());
  const std::string input = own(pass.input()), output = own(pass.output());
  std::vector<Prediction> predictions(2 * kBatch);
  model.predict(pictures().pixels.data(), 2 * kBatch, predictions.data());
  for (size_t i = 0; i < predictions.size(); ++i) EXPECT_EQ(predictions[i].label, pictures().digits[i]);
  EXPECT_EQ(own(pass.input()), input) << "the images were copied";
  EXPECT_EQ(own(pass.output()), output) << "the answers were copied";
}

TEST(Passes, CpuKeepsManySmallPasses) {
  Model model = cpu_model_of("");
  std::vector<Prediction> predictions(20);
  const auto round = [&] {
    for (int64_t count = 1; count <= 20; ++count)
      model.predict(pictures().pixels.data(), count, predictions.data());
  };
  round();
  round();
  const AllocationCounter counter;
  round();
  EXPECT_EQ(counter.allocations(), 0);
}

TEST(Passes, CpuDropsLargePasses) {
  Model model = Model::built_in(on_cpu("layered"));  // a pass of 1,000 images holds 30 MB and more
  const std::vector<uint8_t> pixels(1004 * kPixels);
  std::vector<float> logits(1004 * 10);
  for (int64_t count = 1000; count < 1005; ++count) model.logits(pixels.data(), count, logits.data());
  const AllocationCounter counter;
  model.logits(pixels.data(), 1001, logits.data());
  EXPECT_EQ(counter.allocations(), 0) << "one of the last four";
  model.logits(pixels.data(), 1000, logits.data());
  EXPECT_GT(counter.allocations(), 0) << "the first of five";
}

TEST(Passes, InTheMemoryOfAGpuBeginAtAlignedAddresses) {
  EXPECT_EQ(aligned_pass(300, 784, sizeof(Prediction)), 300);
  EXPECT_EQ(aligned_pass(301, 784, sizeof(Prediction)), 300);
  EXPECT_EQ(aligned_pass(301, 784, 0), 301) << "answers that are placed elsewhere";
  EXPECT_EQ(aligned_pass(301, 392, sizeof(Prediction)), 300) << "packed pixels";
  EXPECT_EQ(aligned_pass(301, 392, 0), 300);
  EXPECT_EQ(aligned_pass(7, 3136, 10 * sizeof(float)), 6);
  EXPECT_EQ(aligned_pass(7, 3 * sizeof(float), 0), 4);
  EXPECT_EQ(aligned_pass(100, 1, 0), 96);
  EXPECT_EQ(aligned_pass(1, 784, sizeof(Prediction)), 2) << "fewer would not be aligned";
}

TEST(Passes, ReplayAGraphWhereTheyAreSmallAndInLayersOnAGpu) {
  BuildOptions pass;
  pass.device = Device::cuda();
  pass.batch = 256;
  const auto replays = [&](const char* graph) {
    return ModelSetup::replays(pass, parse_graph_use(graph, ""));
  };
  EXPECT_TRUE(replays("auto"));
  EXPECT_FALSE(replays("off"));
  pass.batch = 257;
  EXPECT_FALSE(replays("auto"));
  EXPECT_TRUE(replays("on"));
  pass.batch = 1;
  pass.execution = Plan::kFused;
  EXPECT_FALSE(replays("auto")) << "a single launch";
  EXPECT_TRUE(replays("on"));
  pass.execution = Plan::kLayered;
  pass.device = Device::cpu();
  EXPECT_FALSE(replays("auto"));
}

TEST(Passes, RefuseAGraphThatIsUnknownOrOnTheCpu) {
  ModelOptions options = on_cpu();
  for (const char* graph : {"auto", "off"}) {
    options.graph = graph;
    Model model = Model::built_in(options);
    EXPECT_FALSE(model.setup()->call_options(1, {}).cuda_graph);
  }
  options.graph = "on";
  expect_error<UsageError>([&] { Model::built_in(options); },
                           "graph on needs a CUDA device; the CPU has no graphs to capture");
  options.graph = "maybe";
  expect_error<UsageError>([&] { Model::built_in(options); }, "graph expects auto, on or off, found 'maybe'");
}

TEST(Passes, OnViewsRefuseWhatDoesNotFit) {
  BuildOptions options;
  options.batch = 2;
  Executable executable(lenet5(), options);
  std::memset(executable.input().data, 0, executable.input().bytes());
  std::vector<float> images(pictures().images.begin(), pictures().images.begin() + 2 * kPixels);
  std::vector<float> logits(20), own(20);
  ConstTensorView input = executable.input();
  input.data = images.data();
  TensorView output{logits.data(), executable.output().shape, Device::cpu()};
  executable.run(input, output);
  for (const float value : {logits[0], logits[19]}) EXPECT_NE(value, 0);
  EXPECT_EQ(executable.input().data[400], 0) << "the executable's own input was not used";
  std::memcpy(executable.input().data, images.data(), executable.input().bytes());
  executable.run();
  std::memcpy(own.data(), executable.output().data, executable.output().bytes());
  EXPECT_EQ(own, logits);

  ConstTensorView wrong = input;
  wrong.data = nullptr;
  const auto run = [&] { executable.run(wrong, output); };
  expect_error<UsageError>(run, "no memory");
  wrong = input;
  wrong.shape = {1, 1, 28, 28};
  expect_error<UsageError>(run, "[2x1x28x28]");
  wrong = input;
  wrong.type = ElementType::kUint8;
  expect_error<UsageError>(run, "uint8");
  wrong = input;
  wrong.device = Device::cuda(0);
  expect_error<UsageError>(run, "cuda:0");
  wrong = input;
  wrong.data = reinterpret_cast<const float*>(reinterpret_cast<const char*>(images.data()) + 2);
  expect_error<UsageError>(run, "aligned to 4");
  TensorView narrow = output;
  narrow.shape = {2, 9};
  expect_error<UsageError>([&] { executable.run(input, narrow); }, "output");
  float probabilities[2] = {};
  expect_error<UsageError>([&] { executable.run(input, output, executable.stream(), probabilities); },
                           "pair_values needs a GPU and an output of a pair for each sample; pass null");

  options.keep_activations = true;
  Executable keeping(lenet5(), options);
  expect_error<UsageError>([&] { keeping.run(input, output); },
                           "does not work with mapped_io or keep_activations");
}

}  // namespace
}  // namespace lenslet
