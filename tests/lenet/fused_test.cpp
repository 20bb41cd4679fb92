// Every variant of the fused LeNet-5 before the fp64 judge, on the kind of device this program was compiled for: each
// math mode, input and output it offers, batches around every tile, trained and random parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>

#include "framework/executable.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"
#include "models/fused_lenet5/fused_lenet5.h"
#include "tests/lenet/fused_reference.h"
#include "tests/lenet/lenet_fixture.h"
#include "tests/support/expect_error.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

constexpr Device kDevice =
    LENSLET_TEST_DEVICE == DeviceKind::kCuda ? Device{DeviceKind::kCuda, 0} : Device{DeviceKind::kCpu, 0};
constexpr int64_t kPixels = 28 * 28;
constexpr int64_t kImages = 67;  // distinct ones; larger batches repeat them at other positions
constexpr double kMostDigitsOff = 3;
// What a bound may be at most, as a share of the largest logit: a check that accepts anything is none.
const std::map<MathMode, double> kLargestBound = {
    {MathMode::kFp32, 0.02}, {MathMode::kTf32, 2.0}, {MathMode::kFp16, 2.0}};
// And what is seen must be far better still.
const std::map<MathMode, double> kLargestError = {
    {MathMode::kFp32, 1e-5}, {MathMode::kTf32, 1e-2}, {MathMode::kFp16, 1e-2}};

// Strokes, blanks, full ink and noise.
std::vector<uint8_t> make_images() {
  std::vector<uint8_t> pixels(static_cast<size_t>(kImages * kPixels), 0);
  reference::Random random(17);
  for (int64_t i = 0; i < kImages; ++i) {
    uint8_t* const image = pixels.data() + i * kPixels;
    if (i == 1) std::fill(image, image + kPixels, uint8_t{255});
    if (i < 2) continue;
    if (i % 4 == 0) {
      for (int64_t p = 0; p < kPixels; ++p) image[p] = static_cast<uint8_t>(random.below(256));
      continue;
    }
    const int strokes = 1 + static_cast<int>(random.below(4));
    for (int s = 0; s < strokes; ++s) {
      double y = 4 + static_cast<double>(random.below(20)), x = 4 + static_cast<double>(random.below(20));
      const double dy = random.uniform(), dx = random.uniform();
      for (int step = 0; step < 14; ++step, y += dy, x += dx) {
        const auto row = static_cast<int64_t>(y), column = static_cast<int64_t>(x);
        if (row < 0 || row > 26 || column < 0 || column > 26) break;
        for (const int64_t at : {row * 28 + column, row * 28 + column + 1, (row + 1) * 28 + column})
          image[at] = static_cast<uint8_t>(128 + random.below(128));
      }
    }
  }
  return pixels;
}

/// A model, its inputs both ways, and what the judge says of them.
struct Subject {
  explicit Subject(const Safetensors& parameters)
      : model(make_fused_lenet5(parameters)), pixels(make_images()), normalised(pixels.size()) {
    normalize_mnist(pixels.data(), kImages, normalised.data());
    logits = reference_logits(parameters, normalised);
    for (const double logit : logits) largest = std::max(largest, std::abs(logit));
  }
  std::shared_ptr<const FusedModel> model;
  std::vector<uint8_t> pixels;
  std::vector<float> normalised;
  std::vector<double> logits;
  double largest = 0;
};

const Subject& trained() {
  static const Subject subject(builtin_lenet5_weights());
  return subject;
}
const Subject& untrained() {
  static const Subject subject(random_lenet5_parameters());
  return subject;
}

/// Runs a batch whose slot i holds distinct image (i + shift) % kImages, twice, between canaries; both runs must agree
/// bit for bit. Returns the output's bytes.
std::vector<uint8_t> run_batch(const Subject& subject, const std::string& variant,
                               const FusedRequest& request, int64_t shift,
                               const std::vector<float>* images = nullptr) {
  Stream stream(kDevice);
  const std::unique_ptr<Operator> op = subject.model->prepare(variant, request, stream);
  const size_t image_bytes = static_cast<size_t>(kPixels) * element_bytes(request.input);
  const size_t input_bytes = image_bytes * static_cast<size_t>(request.batch);
  const size_t values = request.output == ElementType::kPrediction ? 1 : 10;
  const size_t output_bytes = values * element_bytes(request.output) * static_cast<size_t>(request.batch);
  std::vector<uint8_t> input(input_bytes);
  const auto* const source =
      request.input == ElementType::kUint8
          ? subject.pixels.data()
          : reinterpret_cast<const uint8_t*>((images ? *images : subject.normalised).data());
  for (int64_t i = 0; i < request.batch; ++i) {
    std::memcpy(input.data() + static_cast<size_t>(i) * image_bytes,
                source + static_cast<size_t>((i + shift) % kImages) * image_bytes, image_bytes);
  }
  GuardedMemory memory(kDevice, {input_bytes, output_bytes, op->workspace_bytes()});
  std::vector<uint8_t> results[2] = {std::vector<uint8_t>(output_bytes), std::vector<uint8_t>(output_bytes)};
  for (const int round : {0, 1}) {
    const int byte = round == 0 ? GuardedMemory::kNanByte : GuardedMemory::kMarkByte;
    memory.poison(byte, stream);
    memory.upload(0, input.data(), stream);
    RunContext context{stream, memory.block(2), nullptr};
    const Shape input_shape{request.batch, 1, 28, 28};
    const Shape output_shape = values == 1 ? Shape{request.batch} : Shape{request.batch, 10};
    op->run({{static_cast<const float*>(memory.block(0)), input_shape, kDevice, request.input}},
            {static_cast<float*>(memory.block(1)), output_shape, kDevice, request.output}, context);
    memory.download(1, results[round].data(), stream);
    EXPECT_EQ(memory.damage(byte, stream), "") << "blocks: 0 input, 1 output, 2 workspace";
    std::vector<uint8_t> input_after(input_bytes);
    memory.download(0, input_after.data(), stream);
    EXPECT_EQ(input, input_after) << "the input was written to";
  }
  EXPECT_EQ(results[0], results[1]) << "two runs differ";
  return results[0];
}

std::vector<float> as_logits(const std::vector<uint8_t>& bytes) {
  std::vector<float> logits(bytes.size() / sizeof(float));
  std::memcpy(logits.data(), bytes.data(), bytes.size());
  return logits;
}

/// Every variant, math mode, input and output that is offered for a batch.
void for_each_offer(const Subject& subject, int64_t batch, ElementType output,
                    const std::function<void(const std::string&, const FusedRequest&)>& visit) {
  for (const std::string& variant : subject.model->variants(kDevice.kind)) {
    for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
      for (const ElementType input : {ElementType::kFp32, ElementType::kUint8}) {
        const FusedRequest request{kDevice, batch, math, input, output};
        if (!subject.model->supports(variant, request)) continue;
        SCOPED_TRACE(concat(variant, " ", to_string(math), " ", to_string(input), " batch ", batch));
        visit(variant, request);
      }
    }
  }
}

const std::vector<int64_t>& batches() {
  static const std::vector<int64_t> all = {1,  2,  3,  4,  5,  7,  8,   9,   15,  16,  17,   31,  32,
                                           33, 63, 64, 65, 96, 97, 127, 128, 129, 257, 1000, 5003};
  return all;
}

class Fused : public testing::Test {
 protected:
  void SetUp() override {
    if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
  }
};

TEST_F(Fused, EveryMathModeIsOffered) {
  for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
    if (!kDevice.is_cuda() && math != MathMode::kFp32) continue;  // the CPU computes in fp32 alone
    for (const ElementType input : {ElementType::kFp32, ElementType::kUint8}) {
      for (const ElementType output : {ElementType::kFp32, ElementType::kPrediction}) {
        for (const int64_t batch : {1, 64, 100000})
          EXPECT_NE(trained().model->preferred({kDevice, batch, math, input, output}), "") << to_string(math);
      }
    }
  }
}

TEST_F(Fused, LogitsAgreeWithTheJudge) {
  for (const Subject* subject : {&trained(), &untrained()}) {
    std::map<std::string, double> worst;
    for (const int64_t batch : batches()) {
      for_each_offer(
          *subject, batch, ElementType::kFp32, [&](const std::string& variant, const FusedRequest& request) {
            const double bound = subject->model->output_bound(variant, request);
            EXPECT_GT(bound, 0);
            EXPECT_LE(bound, kLargestBound.at(request.math) * subject->largest);
            const int64_t shift = batch % 5;
            const std::vector<float> logits = as_logits(run_batch(*subject, variant, request, shift));
            double largest_error = 0;
            for (int64_t i = 0; i < batch; ++i) {
              for (int64_t k = 0; k < 10; ++k) {
                const double expected = subject->logits[static_cast<size_t>((i + shift) % kImages * 10 + k)];
                const double error = std::abs(double{logits[static_cast<size_t>(i * 10 + k)]} - expected);
                ASSERT_TRUE(error <= bound)
                    << "image " << i << " logit " << k << ": " << logits[static_cast<size_t>(i * 10 + k)]
                    << ", the judge " << expected;
                largest_error = std::max(largest_error, error);
              }
            }
            EXPECT_LE(largest_error, kLargestError.at(request.math) * subject->largest);
            double& known = worst[variant + "_" + to_string(request.math)];
            known = std::max(known, largest_error / subject->largest);
          });
    }
    for (const auto& [name, error] : worst) {
      RecordProperty((subject == &trained() ? "trained_" : "untrained_") + name,
                     std::to_string(error * 1e9) + "e-9");
    }
  }
}

// Image j gives the same bits wherever it lies in a batch, and beside whatever others.
TEST_F(Fused, ThePositionInABatchDoesNotMatter) {
  for (const int64_t batch : {3, 64, 129}) {
    for_each_offer(
        trained(), batch, ElementType::kFp32, [&](const std::string& variant, const FusedRequest& request) {
          const std::vector<float> at_start = as_logits(run_batch(trained(), variant, request, 0));
          const std::vector<float> moved = as_logits(run_batch(trained(), variant, request, 1));
          for (int64_t i = 0; i + 1 < std::min(batch, kImages); ++i) {
            EXPECT_EQ(std::memcmp(at_start.data() + (i + 1) * 10, moved.data() + i * 10, 10 * sizeof(float)),
                      0)
                << "image " << i + 1;
          }
        });
  }
}

class FusedBatch : public Fused, public testing::WithParamInterface<int64_t> {};

TEST_P(FusedBatch, PredictionsAreTheLogitsOwn) {
  const int64_t batch = GetParam();
  for_each_offer(
      trained(), batch, ElementType::kPrediction,
      [&](const std::string& variant, const FusedRequest& request) {
        FusedRequest for_logits = request;
        for_logits.output = ElementType::kFp32;
        ASSERT_TRUE(trained().model->supports(variant, for_logits));
        const std::vector<uint8_t> bytes = run_batch(trained(), variant, request, 2);
        const std::vector<float> logits = as_logits(run_batch(trained(), variant, for_logits, 2));
        for (int64_t i = 0; i < batch; ++i) {
          Prediction prediction;
          std::memcpy(&prediction, bytes.data() + static_cast<size_t>(i) * sizeof prediction,
                      sizeof prediction);
          const float* const row = logits.data() + i * 10;
          ASSERT_EQ(prediction.label, std::max_element(row, row + 10) - row) << "image " << i;
          std::array<double, 10> probabilities;
          softmax(row, 10, probabilities.data());
          ASSERT_NEAR(prediction.probability, probabilities[static_cast<size_t>(prediction.label)], 2e-6)
              << "image " << i;
        }
      });
}

INSTANTIATE_TEST_SUITE_P(Batches, FusedBatch, testing::ValuesIn(batches()),
                         [](const auto& instance) { return std::to_string(instance.param); });

// A pixel that is not a number must show in that image's answer, and in no other's.
TEST_F(Fused, NanStaysVisible) {
  std::vector<float> images = trained().normalised;
  images[static_cast<size_t>(5 * kPixels + 14 * 28 + 14)] = NAN;
  for (const ElementType output : {ElementType::kFp32, ElementType::kPrediction}) {
    for_each_offer(trained(), 9, output, [&](const std::string& variant, const FusedRequest& request) {
      if (request.input == ElementType::kUint8) return;
      const std::vector<uint8_t> bytes = run_batch(trained(), variant, request, 0, &images);
      const size_t row = bytes.size() / 9;
      for (size_t i = 0; i < 9; ++i) {
        bool nan = false;
        if (output == ElementType::kPrediction) {
          Prediction prediction;
          std::memcpy(&prediction, bytes.data() + i * row, sizeof prediction);
          nan = std::isnan(prediction.probability);
        } else {
          const std::vector<float> logits =
              as_logits({bytes.begin() + static_cast<std::ptrdiff_t>(i * row),
                         bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * row)});
          nan = std::any_of(logits.begin(), logits.end(), [](float v) { return std::isnan(v); });
        }
        EXPECT_EQ(nan, i == 5) << "image " << i;
      }
    });
  }
}

TEST_F(Fused, ReadsTheMnistTestSetAsPyTorchDoes) {
  if (mnist_folder().empty()) GTEST_SKIP() << "LENSLET_MNIST_DIR is not set: no MNIST test set to read";
  const ImageDataset data = read_image_dataset(mnist_folder(), "t10k", 28, 28);
  std::string digits;
  std::ifstream(std::string(LENSLET_SOURCE_DIR) + "/weights/golden/mnist_test_predictions.txt") >> digits;
  ASSERT_EQ(static_cast<int64_t>(digits.size()), data.count);
  int64_t right = 0;
  for (int64_t i = 0; i < data.count; ++i)
    right += digits[static_cast<size_t>(i)] - '0' == data.labels[static_cast<size_t>(i)];
  for_each_offer(trained(), data.count, ElementType::kPrediction,
                 [&](const std::string& variant, const FusedRequest& offered) {
                   BuildOptions options;
                   options.device = kDevice;
                   options.batch = data.count;
                   options.math = offered.math;
                   options.execution = Plan::kFused;
                   options.fused_variant = variant;
                   options.input = offered.input;
                   options.output = offered.output;
                   Executable executable(lenet5(), options);
                   std::vector<float> normalised(static_cast<size_t>(data.count * kPixels));
                   normalize_mnist(data.images.data(), data.count, normalised.data());
                   const void* const source = offered.input == ElementType::kUint8
                                                  ? static_cast<const void*>(data.images.data())
                                                  : static_cast<const void*>(normalised.data());
                   copy_bytes(executable.input().data, kDevice, source, Device::cpu(),
                              executable.input().bytes(), executable.stream());
                   executable.run();
                   std::vector<Prediction> read(static_cast<size_t>(data.count));
                   copy_bytes(read.data(), Device::cpu(), executable.output().data, kDevice,
                              executable.output().bytes(), executable.stream());
                   executable.stream().synchronize();
                   int64_t correct = 0, differ = 0;
                   for (size_t i = 0; i < read.size(); ++i) {
                     correct += read[i].label == data.labels[i];
                     differ += read[i].label != digits[i] - '0';
                   }
                   if (offered.math == MathMode::kFp32) {
                     EXPECT_EQ(differ, 0) << "predictions unlike PyTorch's";
                   }
                   EXPECT_LE(std::abs(static_cast<double>(correct - right)), kMostDigitsOff);
                   RecordProperty(variant + "_" + to_string(offered.math) + "_" + to_string(offered.input),
                                  std::to_string(correct));
                 });
}

TEST_F(Fused, APlanReplaysTheVariant) {
  BuildOptions options;
  options.device = kDevice;
  options.batch = 12;
  options.execution = Plan::kFused;
  options.input = ElementType::kUint8;
  options.output = ElementType::kPrediction;
  const Executable first(lenet5(), options);
  const Plan saved = Plan::from_json(first.plan().to_json(), "plan.json");
  BuildOptions replay;
  replay.device = kDevice;
  replay.batch = 12;
  replay.plan = &saved;
  Executable again(lenet5(), replay);
  EXPECT_EQ(again.plan().to_json(), first.plan().to_json());
  EXPECT_EQ(again.steps().at(0).backend, first.steps().at(0).backend);
  EXPECT_EQ(again.input().type, ElementType::kUint8);
  EXPECT_EQ(again.output().type, ElementType::kPrediction);
}

TEST_F(Fused, RefusesWhatItCannotDo) {
  BuildOptions options;
  options.device = kDevice;
  options.execution = Plan::kFused;
  options.fused_variant = "direct";
  expect_error<UnavailableError>([&] { Executable(lenet5(), options); }, "no variant 'direct'; there are: ");
  options.fused_variant.clear();
  options.keep_activations = true;
  expect_error<UsageError>([&] { Executable(lenet5(), options); }, "stores no activations");
  options = {};
  options.device = kDevice;
  options.input = ElementType::kUint8;
  expect_error<UnavailableError>([&] { Executable(lenet5(), options); },
                                 "the layered plan reads and writes fp32");
  Graph other("other", "input", {1, 28, 28});
  options = {};
  options.device = kDevice;
  options.execution = Plan::kFused;
  expect_error<UnavailableError>([&] { Executable(other, options); },
                                 "no fused plan was written for the model other");
}

// Input and output in host memory that the device addresses: the same bits without a copy.
TEST_F(Fused, MappedMemoryGivesTheSameBits) {
  BuildOptions options;
  options.device = kDevice;
  options.batch = 7;
  options.execution = Plan::kFused;
  options.mapped_io = true;
  if (!kDevice.is_cuda()) {
    expect_error<UsageError>([&] { Executable(lenet5(), options); },
                             "mapped input and output need a CUDA device");
    return;
  }
  const size_t bytes = 7 * kPixels * sizeof(float);
  Executable mapped(lenet5(), options);
  std::memcpy(mapped.input().data, trained().normalised.data(), bytes);
  mapped.run();
  mapped.stream().synchronize();
  options.mapped_io = false;
  Executable copied(lenet5(), options);
  copy_bytes(copied.input().data, kDevice, trained().normalised.data(), Device::cpu(), bytes,
             copied.stream());
  copied.run();
  std::vector<float> logits(70);
  copy_bytes(logits.data(), Device::cpu(), copied.output().data, kDevice, logits.size() * sizeof(float),
             copied.stream());
  copied.stream().synchronize();
  EXPECT_EQ(std::memcmp(mapped.output().data, logits.data(), logits.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace lenslet
