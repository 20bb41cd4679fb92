// Model's calls in the memory of a GPU: the answers of host memory, the order of the caller's stream, captured graphs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "api/model.h"
#include "api/model_setup.h"
#include "framework/device/runtime.h"
#include "framework/execution/executable.h"
#include "framework/tensor/tensor.h"
#include "layers/reference/fill.h"
#include "tests/embedding/model_options.h"
#include "tests/embedding/pictures.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/expect_error.h"
#include "tests/support/gpu.h"
#include "tests/support/host_values.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet {
namespace {

using test::kPixels;
using test::on_gpu;
using test::pictures;
using test::repeated;

Model fused(const char* math = "fp32", const char* backend = "") {
  return Model::built_in(on_gpu("fused", math, backend));
}

Model separable() { return Model::load(LENSLET_SOURCE_DIR "/tests/models/onnx/separable.onnx", on_gpu()); }

/// Values in the memory of the GPU; copies wait.
template <typename Value>
class OnDevice {
 public:
  explicit OnDevice(size_t size) : size_(size), memory_(Device::cuda(), size * sizeof(Value)) {}
  explicit OnDevice(const std::vector<Value>& values) : OnDevice(values.size()) { write(values); }
  Value* data() { return memory_.as<Value>(); }
  void write(const std::vector<Value>& values) {
    Stream stream(Device::cuda());
    copy_bytes(data(), Device::cuda(), values.data(), Device::cpu(), values.size() * sizeof(Value), stream);
    stream.synchronise();
  }
  std::vector<Value> read() {
    std::vector<Value> values(size_);
    Stream stream(Device::cuda());
    copy_bytes(values.data(), Device::cpu(), data(), Device::cuda(), size_ * sizeof(Value), stream);
    stream.synchronise();
    return values;
  }

 private:
  size_t size_;
  Buffer memory_;
};

template <typename Value>
void check_forms(Model& model, const std::vector<Value>& images, int64_t count) {
  const auto size = static_cast<size_t>(count);
  std::vector<Prediction> predictions(size);
  std::vector<float> logits(size * 10);
  model.predict(images.data(), count, predictions.data());
  model.logits(images.data(), count, logits.data());

  Stream stream(Device::cuda());
  const Place place = Place::on_device(stream.native_handle());
  OnDevice<Value> input(images);
  OnDevice<Prediction> together(size);
  OnDevice<int32_t> labels(size);
  OnDevice<float> probabilities(size), values(size * 10);
  for (int round = 0; round < 2; ++round) {  // prepared by the first
    model.predict(input.data(), count, together.data(), place);
    model.predict(input.data(), count, PredictionArrays{labels.data(), probabilities.data()}, place);
    model.logits(input.data(), count, values.data(), place);
    stream.synchronise();
    EXPECT_TRUE(same_bits(together.read(), predictions));
    EXPECT_TRUE(same_bits(values.read(), logits));
    const std::vector<int32_t> apart = labels.read();
    const std::vector<float> of_them = probabilities.read();
    for (size_t i = 0; i < size; ++i) {
      ASSERT_EQ(apart[i], predictions[i].label) << i;
      ASSERT_EQ(of_them[i], predictions[i].probability) << i;
    }
  }
  EXPECT_TRUE(same_bits(input.read(), images)) << "input changed";
}

TEST(DeviceGpu, AnswersHaveTheBitsOfThoseFromHostMemory) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const char* math : {"fp32", "fp16"}) {
    SCOPED_TRACE(math);
    Model model = fused(math);
    for (const int64_t count : {1, 20, 64, 65, 600}) {
      SCOPED_TRACE(count);
      check_forms(model, repeated(pictures().pixels, count), count);
      check_forms(model, repeated(pictures().images, count), count);
      check_forms(model, repeated(pictures().pairs, count), count);
    }
  }
  // From host memory more images come in chunks, for which auto may take another backend than for all of them.
  for (const auto& [math, backend] :
       {std::pair{"fp32", "fp32"}, {"fp32", "medium"}, {"tf32", "mma"}, {"fp16", "mma"}}) {
    SCOPED_TRACE(math + std::string(" by ") + backend);
    Model model = fused(math, backend);
    for (const int64_t count : {1000, 70000}) {
      SCOPED_TRACE(count);
      check_forms(model, repeated(pictures().pixels, count), count);
      check_forms(model, repeated(pictures().images, count), count);
      check_forms(model, repeated(pictures().pairs, count), count);
    }
  }
  // A pass that fp32 divides: it computes up to 131,072 images at a time.
  constexpr int64_t kDivided = 132000;
  Model model = Model::built_in(on_gpu("fused", "fp32", "fp32", kDivided));
  check_forms(model, repeated(pictures().pixels, kDivided), kDivided);
}

// Unpacked on the device, pairs have the bits of their greys; also from host memory by chunks of a feed.
TEST(DeviceGpu, PackedPixelsHaveTheBitsOfTheirGreys) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const auto& [math, backend] :
       {std::pair{"fp32", "small"}, {"fp32", "medium"}, {"fp32", "fp32"}, {"tf32", "mma"}, {"fp16", "mma"}}) {
    SCOPED_TRACE(math + std::string(" by ") + backend);
    Model model = fused(math, backend);
    for (const int64_t count : {1, 3, 65, 1001, 30001}) {
      SCOPED_TRACE(count);
      const auto size = static_cast<size_t>(count);
      std::vector<Prediction> expected(size), found(size);
      std::vector<float> expected_logits(10 * size), logits(10 * size);
      const std::vector<uint8_t> greys = repeated(pictures().greys, count);
      const std::vector<PixelPair> pairs = repeated(pictures().pairs, count);
      // In passes of one size for both, whatever the chunks of a call are.
      OnDevice<uint8_t> device_greys(greys);
      OnDevice<PixelPair> device_pairs(pairs);
      OnDevice<float> values(10 * size);
      Stream stream(Device::cuda());
      const Place place = Place::on_device(stream.native_handle());
      model.logits(device_greys.data(), count, values.data(), place);
      stream.synchronise();
      expected_logits = values.read();
      model.logits(device_pairs.data(), count, values.data(), place);
      stream.synchronise();
      EXPECT_TRUE(same_bits(values.read(), expected_logits)) << "in the GPU's memory";
      model.predict(greys.data(), count, expected.data());
      model.predict(pairs.data(), count, found.data());
      for (size_t i = 0; i < size; ++i) {
        ASSERT_EQ(found[i].label, expected[i].label) << i;
        ASSERT_NEAR(found[i].probability, expected[i].probability, test::kProbabilityTolerance) << i;
      }
    }
  }
}

TEST(DeviceGpu, LayersRunInPlaceToo) {
  LENSLET_SKIP_WITHOUT_GPU();
  // A call takes several passes, the last of another size.
  Model model = Model::built_in(on_gpu("auto", "fp32", "", 300));
  const std::vector<float> images = repeated(pictures().images, 1000);
  std::vector<float> expected(10000);
  model.run(images.data(), 1000, expected.data());
  OnDevice<float> input(images), values(10000);
  model.run(input.data(), 1000, values.data(), Place::on_device(nullptr));
  Stream::borrowed(Device::cuda(), nullptr).synchronise();
  const std::vector<float> found = values.read();
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], test::kLogitTolerance) << i;
}

// Answers of 8 and 40 bytes: every second pass of an odd number of images would begin beside a multiple of 16.
TEST(DeviceGpu, PassesOfAnOddNumberOfImagesAreAligned) {
  LENSLET_SKIP_WITHOUT_GPU();
  constexpr int64_t kCount = 7;
  for (const int64_t max_batch : {1, 3}) {
    SCOPED_TRACE(max_batch);
    Model model = Model::built_in(on_gpu("auto", "fp32", "", max_batch));
    const std::vector<uint8_t> pixels = repeated(pictures().pixels, kCount);
    std::vector<Prediction> expected(kCount);
    std::vector<float> expected_logits(kCount * 10);
    model.predict(pixels.data(), kCount, expected.data());
    model.logits(pixels.data(), kCount, expected_logits.data());
    OnDevice<uint8_t> input(pixels);
    OnDevice<Prediction> answers(kCount);
    OnDevice<int32_t> labels(kCount + 1);
    OnDevice<float> logits(kCount * 10), probabilities(kCount + 1);
    const Place place = Place::on_device(nullptr);
    model.predict(input.data(), kCount, answers.data(), place);
    model.logits(input.data(), kCount, logits.data(), place);
    // Predictions as two arrays need no more than the alignment of their types.
    model.predict(input.data(), kCount, PredictionArrays{labels.data() + 1, probabilities.data() + 1}, place);
    Stream::borrowed(Device::cuda(), nullptr).synchronise();
    const std::vector<Prediction> found = answers.read();
    const std::vector<int32_t> apart = labels.read();
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].label, expected[i].label) << i;
      EXPECT_NEAR(found[i].probability, expected[i].probability, test::kProbabilityTolerance) << i;
      EXPECT_EQ(apart[i + 1], expected[i].label) << i;
    }
    const std::vector<float> found_logits = logits.read();
    for (size_t i = 0; i < found_logits.size(); ++i)
      EXPECT_NEAR(found_logits[i], expected_logits[i], test::kLogitTolerance) << i;
  }
}

// Holds a stream back until it is let go.
class Held {
 public:
  explicit Held(Stream& stream) {
    runtime::hold_stream(
        stream.native_handle(),
        [](void* argument) {
          while (!static_cast<std::atomic<bool>*>(argument)->load()) {
          }
        },
        &free_);
  }
  ~Held() { let_go(); }
  void let_go() { free_ = true; }

 private:
  std::atomic<bool> free_{false};
};

TEST(DeviceGpu, CallsWaitForTheStreamAndTheCallerForNothing) {
  LENSLET_SKIP_WITHOUT_GPU();
  Model model = fused();
  std::vector<Prediction> expected(20);
  model.predict(pictures().pixels.data(), 20, expected.data());
  Stream stream(Device::cuda());
  const Place place = Place::on_device(stream.native_handle());
  OnDevice<uint8_t> input(std::vector<uint8_t>(20 * kPixels));
  OnDevice<int32_t> labels(20);
  OnDevice<float> probabilities(20);
  PinnedBuffer pixels(Device::cuda(), 20 * kPixels), answers(Device::cuda(), 20 * sizeof(int32_t));
  std::memcpy(pixels.data(), pictures().pixels.data(), pixels.bytes());
  model.predict(input.data(), 20, PredictionArrays{labels.data(), probabilities.data()}, place);
  stream.synchronise();
  {
    Held held(stream);
    copy_bytes(input.data(), Device::cuda(), pixels.data(), Device::cpu(), pixels.bytes(), stream);
    const AllocationCounter counter;
    model.predict(input.data(), 20, PredictionArrays{labels.data(), probabilities.data()}, place);
    EXPECT_EQ(counter.allocations(), 0) << "a prepared call allocates nothing";
    copy_bytes(answers.data(), Device::cpu(), labels.data(), Device::cuda(), answers.bytes(), stream);
    held.let_go();  // the line is reached only if the call waits for nothing
    stream.synchronise();
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(static_cast<const int32_t*>(answers.data())[i], expected[static_cast<size_t>(i)].label) << i;
}

// The driver is not queried for the memory of a place that the caller knows.
TEST(DeviceGpu, AKnownPlaceIsTakenAtItsWord) {
  LENSLET_SKIP_WITHOUT_GPU();
  constexpr int64_t kCount = 20;
  Model model = fused();
  std::vector<Prediction> expected(kCount);
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, kCount);
  model.predict(pixels.data(), kCount, expected.data());
  OnDevice<uint8_t> input(pixels);
  OnDevice<int32_t> labels(kCount);
  OnDevice<float> probabilities(kCount);
  const PredictionArrays answers{labels.data(), probabilities.data()};
  Stream stream(Device::cuda());
  model.predict(input.data(), kCount, answers, Place::known_on(Device::cuda(), stream.native_handle()));
  stream.synchronise();
  const std::vector<int32_t> found = labels.read();
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i].label) << i;
  const auto elsewhere = Place::known_on(Device::cuda(7), stream.native_handle());
  expect_error<UsageError>([&] { model.predict(input.data(), kCount, answers, elsewhere); },
                           "the images must be memory of cuda:0, found that of cuda:7");
}

// Both calls use the model's workspace.
TEST(DeviceGpu, CallsOnTwoStreamsTakeTurns) {
  LENSLET_SKIP_WITHOUT_GPU();
  Model model = fused();
  constexpr int64_t kCount = 5000;
  std::vector<uint8_t> forwards = repeated(pictures().pixels, kCount);
  std::vector<uint8_t> backwards(forwards.rbegin(), forwards.rend());
  std::vector<Prediction> expected[2] = {std::vector<Prediction>(kCount), std::vector<Prediction>(kCount)};
  model.predict(forwards.data(), kCount, expected[0].data());
  model.predict(backwards.data(), kCount, expected[1].data());
  OnDevice<uint8_t> inputs[2] = {OnDevice<uint8_t>(forwards), OnDevice<uint8_t>(backwards)};
  OnDevice<int32_t> labels[2] = {OnDevice<int32_t>(kCount), OnDevice<int32_t>(kCount)};
  OnDevice<float> probabilities[2] = {OnDevice<float>(kCount), OnDevice<float>(kCount)};
  Stream streams[2] = {Stream(Device::cuda()), Stream(Device::cuda())};
  for (int round = 0; round < 20; ++round) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      model.predict(inputs[i].data(), kCount, PredictionArrays{labels[i].data(), probabilities[i].data()},
                    Place::on_device(streams[i].native_handle()));
    }
  }
  for (const size_t i : {size_t{0}, size_t{1}}) {
    streams[i].synchronise();
    const std::vector<int32_t> found = labels[i].read();
    for (size_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k], expected[i][k].label) << k;
  }
}

TEST(DeviceGpu, AGraphRecordsPreparedCalls) {
  LENSLET_SKIP_WITHOUT_GPU();
  Model model = fused();
  Stream stream(Device::cuda());
  const Place place = Place::on_device(stream.native_handle());
  OnDevice<uint8_t> input(std::vector<uint8_t>(100 * kPixels));
  OnDevice<int32_t> labels(100);
  OnDevice<float> probabilities(100);
  const auto call = [&] {
    model.predict(input.data(), 100, PredictionArrays{labels.data(), probabilities.data()}, place);
  };
  expect_error<UsageError>([&] { (void)CapturedGraph::capture(stream, call); },
                           "make the same call once before the capture");
  call();
  const CapturedGraph graph = CapturedGraph::capture(stream, call);
  // Later calls get memory of their own, and neither they nor many other counts take that of the graph.
  for (int64_t count = 100; count > 88; --count)
    model.predict(input.data(), count, PredictionArrays{labels.data(), probabilities.data()}, place);
  stream.synchronise();
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, 100);
  std::vector<Prediction> expected(100);
  model.predict(pixels.data(), 100, expected.data());
  input.write(pixels);
  for (int round = 0; round < 3; ++round) {
    labels.write(std::vector<int32_t>(100, -1));
    graph.launch(stream);
    stream.synchronise();
    const std::vector<int32_t> found = labels.read();
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i].label) << i;
  }
}

/// Random values in [0, 1) of `count` samples.
std::vector<float> random_samples(const Model& model, int64_t count, uint64_t seed) {
  return reference::uniform_values(static_cast<size_t>(count * model.input_shape().num_elements()), seed);
}

// The same kernels, so the same bits.
TEST(DeviceGpu, SmallPassesInLayersReplayAGraph) {
  LENSLET_SKIP_WITHOUT_GPU();
  Model model = separable();
  for (const int64_t count : {1, 3, 256, 257}) {
    SCOPED_TRACE(count);
    EXPECT_EQ(model.setup()->call_options(count, {}).cuda_graph, count < 257);
    Model step_by_step(model.setup(), model.setup()->build_options(count, {}));
    EXPECT_FALSE(step_by_step.executable().replays());
    const auto size = static_cast<size_t>(count * model.output_shape().num_elements());
    Stream streams[2] = {Stream(Device::cuda()), Stream(Device::cuda())};
    OnDevice<float> inputs[2] = {OnDevice<float>(random_samples(model, count, 0)),
                                 OnDevice<float>(random_samples(model, count, 0))};
    OnDevice<float> outputs(size);
    const std::vector<float> none(size);
    for (uint64_t round = 0; round < 8; ++round) {
      SCOPED_TRACE(round);
      const std::vector<float> samples = random_samples(model, count, round);
      std::vector<float> expected(size), from_host(size);
      step_by_step.run(samples.data(), count, expected.data());
      model.run(samples.data(), count, from_host.data());
      EXPECT_TRUE(same_bits(from_host, expected)) << "from host memory";
      OnDevice<float>& input = inputs[round % 2];
      input.write(samples);
      outputs.write(none);
      Stream& stream = streams[round / 2 % 2];
      {
        const bool prepared = round >= 4;  // the third call with these addresses
        std::optional<Held> held;
        if (prepared) held.emplace(stream);
        const AllocationCounter counter;
        model.run(input.data(), count, outputs.data(), Place::on_device(stream.native_handle()));
        if (prepared) {
          EXPECT_EQ(counter.allocations(), 0);
          // Meanwhile a graph on another stream would be done.
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          EXPECT_TRUE(same_bits(outputs.read(), none)) << "computed before the work of the stream";
        }
      }
      stream.synchronise();
      EXPECT_TRUE(same_bits(outputs.read(), expected)) << "in the GPU's memory";
      EXPECT_TRUE(same_bits(input.read(), samples)) << "input changed";
    }
  }
}

// The option decides for both plans, any number of images, and both kinds of memory; the answers are the same.
TEST(DeviceGpu, TheOptionGraphDecidesWhichPassesAreReplayed) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const std::string plan : {"layered", "fused"}) {
    for (const int64_t count : {1, 40, 300}) {
      const std::vector<float> samples = repeated(pictures().images, count);
      std::vector<float> from_host(static_cast<size_t>(count * 10)), on_device(from_host.size());
      for (const std::string graph : {"off", "auto", "on"}) {
        SCOPED_TRACE(plan + ", graph " + graph + ", " + std::to_string(count));
        ModelOptions options = on_gpu(plan);
        options.graph = graph;
        Model model = Model::built_in(options);
        const bool replays = graph == "on" || (graph == "auto" && plan == "layered" && count <= 256);
        EXPECT_EQ(model.setup()->call_options(count, {}).cuda_graph, replays);
        Stream stream(Device::cuda());
        OnDevice<float> input(samples), outputs(on_device.size());
        for (int round = 0; round < 4; ++round) {
          std::vector<float> found(from_host.size());
          model.run(samples.data(), count, found.data());
          outputs.write(std::vector<float>(on_device.size()));
          model.run(input.data(), count, outputs.data(), Place::on_device(stream.native_handle()));
          stream.synchronise();
          if (graph == "off" && round == 0) {
            from_host = found;
            on_device = outputs.read();
          }
          EXPECT_TRUE(same_bits(found, from_host)) << "from host memory, round " << round;
          EXPECT_TRUE(same_bits(outputs.read(), on_device)) << "in the GPU's memory, round " << round;
        }
        if (plan == "layered") {
          EXPECT_EQ(model.executable(count).replays(), replays);
        }
      }
    }
  }
}

TEST(DeviceGpu, AGraphOfTheCallerRecordsTheLayersOfASmallPass) {
  LENSLET_SKIP_WITHOUT_GPU();
  constexpr int64_t kCount = 5;
  Model model = separable();
  Stream stream(Device::cuda());
  const std::vector<float> samples = random_samples(model, kCount, 1);
  std::vector<float> expected(static_cast<size_t>(kCount * model.output_shape().num_elements()));
  model.run(samples.data(), kCount, expected.data());
  OnDevice<float> input(std::vector<float>(samples.size())), outputs(expected.size());
  const auto call = [&] {
    model.run(input.data(), kCount, outputs.data(), Place::on_device(stream.native_handle()));
  };
  for (int i = 0; i < 3; ++i) call();  // the model has a graph of its own for this memory
  const CapturedGraph graph = CapturedGraph::capture(stream, call);
  input.write(samples);
  for (int round = 0; round < 2; ++round) {
    outputs.write(std::vector<float>(expected.size()));
    graph.launch(stream);
    stream.synchronise();
    EXPECT_TRUE(same_bits(outputs.read(), expected));
  }
}

TEST(DeviceGpu, OtherMemoryAndPlansAreRefused) {
  LENSLET_SKIP_WITHOUT_GPU();
  Model model = fused();
  const Place place = Place::on_device(nullptr);
  OnDevice<uint8_t> input(pictures().pixels);
  OnDevice<Prediction> answers(20);
  std::vector<Prediction> host(20);
  expect_error<UsageError>([&] { model.predict(pictures().pixels.data(), 20, answers.data(), place); },
                           "the images must be memory of cuda:0, found host memory");
  expect_error<UsageError>([&] { model.predict(input.data(), 20, host.data(), place); },
                           "the answers' place must be memory of cuda:0, found host memory");
  expect_error<UsageError>([&] { model.predict(input.data() + 4, 1, answers.data(), place); },
                           "the images must be aligned to 16 bytes, found 4 bytes past such an address");
  expect_error<UsageError>([&] { model.predict(input.data(), 1, answers.data() + 1, place); },
                           "the answers' place must be aligned to 16 bytes, found 8 bytes past");
  auto* const labels = reinterpret_cast<int32_t*>(reinterpret_cast<char*>(answers.data()) + 2);
  auto* const probabilities = reinterpret_cast<float*>(answers.data() + 10);
  expect_error<UsageError>(
      [&] {
        model.predict(input.data(), 1, PredictionArrays{labels, probabilities}, place);
      },
      "the answers' place must be aligned to 4 bytes, found 2 bytes past");
  expect_error<UsageError>([&] { model.predict(input.data(), -1, answers.data(), place); }, "-1");
  model.predict(input.data(), 0, answers.data(), place);
  Model layered = Model::built_in(on_gpu("layered"));
  expect_error<UnavailableError>([&] { layered.predict(input.data(), 20, answers.data(), place); },
                                 "reads fp32 and writes fp32");
}

}  // namespace
}  // namespace lenslet
