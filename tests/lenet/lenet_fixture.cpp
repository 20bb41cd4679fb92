#include "tests/lenet/lenet_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tests/support/host_values.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet {

namespace {

// PyTorch's values are exact to fp32 rounding; ours may differ by the reordering of at most 256 products, and in a
// Winograd layer by its transforms (6.4e-6 of the largest value). NaN must fail, so the test is "accept if close".
constexpr double kRelativeToLargest = 2e-5;
constexpr int64_t kTestImages = 10000;

const std::string kGolden = std::string(LENSLET_SOURCE_DIR) + "/weights/golden/";

void expect_close(const std::vector<float>& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(static_cast<int64_t>(actual.size()), expected.shape().num_elements()) << what;
  double largest = 1;
  for (size_t i = 0; i < actual.size(); ++i)
    largest = std::max(largest, std::abs(double{expected.data()[i]}));
  for (size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(double{actual[i]} - double{expected.data()[i]});
    ASSERT_TRUE(error <= kRelativeToLargest * largest)
        << what << " element " << i << ": " << actual[i] << ", PyTorch " << expected.data()[i];
  }
}

int argmax(const float* logits) {
  return static_cast<int>(std::max_element(logits, logits + kLenet5Classes) - logits);
}

double margin(const float* logits) {
  std::vector<float> sorted(logits, logits + kLenet5Classes);
  std::sort(sorted.begin(), sorted.end(), std::greater<float>());
  return double{sorted[0]} - double{sorted[1]};
}

}  // namespace

const Safetensors& golden_activations() {
  static const Safetensors golden = read_safetensors(kGolden + "activations.safetensors");
  return golden;
}

std::vector<std::string> conv_pairs(Device device) {
  const auto legal = [&](const char* name, const Shape& input, const Shape& output) {
    OperatorRequest request;
    request.device = device;
    request.inputs = {input};
    request.output = output;
    const Layer& layer = *lenet5().node(name).layer;
    std::vector<std::string> names;
    for (const std::string& backend : layer.backends(device.kind)) {
      if (layer.supports(backend, request)) names.push_back(backend);
    }
    return names;
  };
  std::vector<std::string> pairs;
  for (const std::string& first : legal("conv1", {1, 1, 28, 28}, {1, 6, 24, 24})) {
    for (const std::string& second : legal("conv2", {1, 6, 12, 12}, {1, 16, 8, 8})) {
      pairs.push_back("conv1=" + first + ",conv2=" + second);
    }
  }
  return pairs;
}

void check_golden_activations(Device device, const std::string& backends, bool fuse) {
  SCOPED_TRACE(backends + (fuse ? " fused" : " apart"));
  const Safetensors& golden = golden_activations();
  const Tensor& input = golden.tensors.at("input");
  BuildOptions options = options_on(device, input.shape()[0]);
  options.backends = BackendSpec::parse(backends);
  options.fuse = fuse;
  options.keep_activations = true;
  Executable executable(lenet5(), options);
  copy(input.view(), executable.input(), executable.stream());
  executable.run();
  for (const Graph::Node& node : lenet5().nodes()) {
    if (!node.layer) continue;
    // The layer before a fused one has no output of its own.
    const size_t index = static_cast<size_t>(&node - lenet5().nodes().data());
    const std::vector<int> readers = lenet5().consumers(static_cast<int>(index));
    const bool stored = std::none_of(readers.begin(), readers.end(), [&](int reader) {
      return executable.plan().find(lenet5().nodes()[static_cast<size_t>(reader)].name)->backend == "fused";
    });
    if (!stored) continue;
    const std::vector<float> actual = host_values(executable.activation(node.name), executable.stream());
    expect_close(actual, golden.tensors.at(node.name), node.name);
  }
}

void check_fused_pooling(Device device, int64_t batch) {
  SCOPED_TRACE("batch " + std::to_string(batch));
  Tensor images({batch, 1, kLenet5Side, kLenet5Side});
  const auto values = static_cast<size_t>(images.shape().num_elements());
  const Tensor& digits = golden_activations().tensors.at("input");
  for (size_t i = 0; i < values; ++i)
    images.data()[i] = digits.data()[i % static_cast<size_t>(digits.shape().num_elements())];
  std::vector<float> logits[2];
  for (const bool fuse : {false, true}) {
    BuildOptions options = options_on(device, batch);
    options.fuse = fuse;
    options.backends = BackendSpec::parse("conv1=direct,conv2=direct");
    Executable executable(lenet5(), options);
    using Names = std::vector<std::string>;
    EXPECT_EQ(executable.steps()[0].fused, fuse ? (Names{"relu1", "pool1"}) : Names());
    EXPECT_EQ(executable.steps().size(), fuse ? 5u : 11u);
    EXPECT_EQ(executable.plan().find("pool2")->fused_into, fuse ? "conv2" : "");
    copy(images.view(), executable.input(), executable.stream());
    executable.run();
    logits[fuse] = host_values(executable.output(), executable.stream());
  }
  EXPECT_TRUE(same_bits(logits[0], logits[1]));
}

std::string mnist_folder() {
  const char* folder = std::getenv("LENSLET_MNIST_DIR");
  return folder ? folder : "";
}

void check_mnist_predictions(Device device, const std::string& backends, int64_t batch) {
  SCOPED_TRACE(backends);
  const ImageDataset data = read_image_dataset(mnist_folder(), "t10k", kLenet5Side, kLenet5Side);
  ASSERT_EQ(data.count, kTestImages);
  static const Safetensors reference = read_safetensors(kGolden + "mnist_test_logits.safetensors");
  const float* expected = reference.tensors.at("logits").data();
  std::string digits;
  std::ifstream(kGolden + "mnist_test_predictions.txt") >> digits;
  ASSERT_EQ(digits.size(), static_cast<size_t>(kTestImages));

  BuildOptions options = options_on(device, batch);
  options.backends = BackendSpec::parse(backends);
  Executable executable(lenet5(), options);
  Tensor images({batch, 1, kLenet5Side, kLenet5Side});
  double worst = 0;
  for (int64_t first = 0; first < kTestImages; first += batch) {
    const int64_t count = std::min(batch, kTestImages - first);
    normalise_mnist(data.images.data() + first * kLenet5Pixels, count, images.data());
    copy(images.view(), executable.input(), executable.stream());
    executable.run();
    const std::vector<float> logits = host_values(executable.output(), executable.stream());
    for (int64_t i = 0; i < count; ++i) {
      const float* ours = logits.data() + i * kLenet5Classes;
      const float* theirs = expected + (first + i) * kLenet5Classes;
      for (int k = 0; k < kLenet5Classes; ++k) {
        const double error = std::abs(double{ours[k]} - double{theirs[k]});
        ASSERT_TRUE(error <= test::kLogitTolerance)
            << "image " << first + i << " logit " << k << ": " << ours[k] << ", PyTorch " << theirs[k];
        worst = std::max(worst, error);
      }
      EXPECT_EQ('0' + argmax(ours), digits[static_cast<size_t>(first + i)])
          << "image " << first + i << ", margin " << margin(ours) << ", PyTorch's margin " << margin(theirs);
    }
  }
  ::testing::Test::RecordProperty("worst_logit_error", std::to_string(worst));
}

}  // namespace lenslet
