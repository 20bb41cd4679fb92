// Model with a network of an ONNX file: its shapes, its values against the judge of the file's nodes, its layers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>

#include "framework/base/error.h"
#include "layers/softmax/softmax_error.h"
#include "models/onnx/model_file.h"
#include "tests/embedding/model_options.h"
#include "tests/models/onnx/evaluate.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace lenslet {
namespace {

using test::on_cpu;

constexpr const char* kNetwork = LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx";
// The outputs are below 1 and a sum has at most 256 values: roundings of fp32 of random signs add up to
// sqrt(256) * 2^-24 = 1e-6. Three times that.
constexpr double kTolerance = 3e-6;

std::vector<float> random_values(int64_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

const LayerInfo& layer_of(const std::vector<LayerInfo>& layers, std::string_view name) {
  for (const LayerInfo& layer : layers)
    if (layer.name == name) return layer;
  throw std::logic_error(concat("there is no layer ", name));
}

TEST(NetworkOfAFile, RunsLikeItsNodes) {
  constexpr int64_t kCount = 5;
  const std::vector<float> inputs = random_values(kCount * 3 * 32 * 32);
  const auto parsed = onnx::read_model(kNetwork);
  const auto judged = test::onnx::evaluate(parsed, {{kCount, 3, 32, 32}, {inputs.begin(), inputs.end()}});
  const std::vector<double>& expected = judged.at(parsed.outputs[0].name).values;
  ASSERT_EQ(expected.size(), size_t{50});
  for (const int64_t max_batch : {0, 1, 2}) {
    Model model = Model::load(kNetwork, on_cpu("auto", "", max_batch));
    EXPECT_EQ(model.input_shape(), (Shape{3, 32, 32}));
    EXPECT_EQ(model.output_shape(), (Shape{10}));
    EXPECT_EQ(model.pass_size(), max_batch == 0 ? 1024 : max_batch);
    std::vector<float> outputs(50, NAN);
    model.run(inputs.data(), kCount, outputs.data());
    for (size_t i = 0; i < 50; ++i)
      EXPECT_NEAR(outputs[i], expected[i], kTolerance) << i << ", at most " << max_batch << " a pass";
  }
}

TEST(NetworkOfAFile, IsNoDigitModel) {
  Model model = Model::load(kNetwork, on_cpu());
  Prediction prediction;
  float values[10];
  const std::vector<float> input(3 * 32 * 32);
  const char* const words = "reads 3x32x32 and writes 10; run() supports any network";
  expect_error<DataError>([&] { model.predict(input.data(), 1, &prediction); }, words);
  expect_error<DataError>([&] { model.logits(input.data(), 1, values); }, words);
}

TEST(NetworkOfAFile, ReportsWhatComputesEachLayer) {
  const std::vector<LayerInfo> layers = Model::load(kNetwork, on_cpu("auto", "stem=im2col_gemm")).layers(2);
  const LayerInfo& stem = layer_of(layers, "stem");
  EXPECT_EQ(stem.type, "conv2d");
  EXPECT_EQ(stem.input, (Shape{3, 32, 32}));
  EXPECT_EQ(stem.output, (Shape{8, 16, 16}));
  EXPECT_EQ(stem.backend, "im2col_gemm");
  EXPECT_EQ(stem.computed_by, "stem");
  EXPECT_EQ(layer_of(layers, "classes").output, (Shape{10}));
  EXPECT_EQ(layers.back().name, "classes");
}

// A fused layer names the code that computes it, not a backend of its own.
TEST(NetworkOfAFile, LayersOfTheWholeNetworkAreComputedByIt) {
  ModelOptions options = on_cpu();
  options.plan = "fused";
  for (const LayerInfo& layer : Model::built_in(options).layers()) {
    EXPECT_EQ(layer.computed_by, "lenet5") << layer.name;
    EXPECT_EQ(layer.backend, "simd") << layer.name;
  }
  options.plan = "layered";
  options.backend = "conv1=direct";
  const std::vector<LayerInfo> layers = Model::built_in(options).layers();
  EXPECT_EQ(layers.size(), size_t{11});
  EXPECT_EQ(layer_of(layers, "relu1").computed_by, "conv1");
  EXPECT_EQ(layer_of(layers, "relu1").backend, "direct");
  EXPECT_EQ(layer_of(layers, "pool2").computed_by, "conv2");
}

std::string write_network(const std::string& name, const test::onnx::GraphParts& parts) {
  return test::temporary_file(name, test::onnx::model_of(parts, 13).bytes());
}

// Ten windows of 28 x 10 pixels, their maxima, and softmax, before or after the change of their shape.
void expect_predictions_of_probabilities(bool flat_last) {
  using test::onnx::attribute;
  test::onnx::GraphParts parts;
  parts.inputs = {test::onnx::value("x", {-1, 1, 28, 28})};
  parts.nodes = {test::onnx::node("MaxPool", {"x"}, "maxima",
                                  {attribute("kernel_shape", std::vector<int64_t>{28, 10}),
                                   attribute("strides", std::vector<int64_t>{28, 2})}),
                 test::onnx::node("Flatten", {"maxima"}, "flat"),
                 test::onnx::node("Softmax", {"flat"}, "y", {attribute("axis", 1)})};
  if (flat_last) {
    parts.nodes[1] = test::onnx::node("Softmax", {"maxima"}, "shares", {attribute("axis", 3)});
    parts.nodes[2] = test::onnx::node("Flatten", {"shares"}, "y");
  }
  parts.outputs = {test::onnx::value("y", {-1, 10})};
  Model model = Model::load(write_network("softmax.onnx", parts), on_cpu());
  constexpr int64_t kCount = 3;
  const std::vector<float> inputs = random_values(kCount * 28 * 28);
  std::vector<float> probabilities(kCount * 10);
  std::vector<Prediction> predictions(kCount);
  model.run(inputs.data(), kCount, probabilities.data());
  model.predict(inputs.data(), kCount, predictions.data());
  const AllocationCounter counter;
  model.predict(inputs.data(), kCount, predictions.data());
  EXPECT_EQ(counter.allocations(), 0);
  for (size_t i = 0; i < predictions.size(); ++i) {
    const auto first = probabilities.begin() + static_cast<std::ptrdiff_t>(i * 10);
    const auto largest = std::max_element(first, first + 10);
    EXPECT_EQ(predictions[i].label, largest - first);
    // The softmax of the logarithms, each rounded: at most 2 ln 10 * 2^-24 = 2.7e-7 more, still below the bound.
    EXPECT_NEAR(predictions[i].probability, *largest, kSoftmaxError);
  }
}

TEST(NetworkOfAFile, ProbabilitiesBecomePredictionsWithoutAllocating) {
  expect_predictions_of_probabilities(false);
  expect_predictions_of_probabilities(true);
}

// A pass of 1,024 pictures of 224x224 would take gigabytes.
TEST(NetworkOfAFile, LargeLayersMakeSmallPasses) {
  EXPECT_EQ(Model::built_in(on_cpu()).pass_size(), 1024);
  EXPECT_EQ(Model::load(kNetwork, on_cpu("auto", "", 7)).pass_size(), 7);
  test::onnx::GraphParts parts;
  parts.inputs = {test::onnx::value("x", {-1, 1, 2048, 2048})};
  parts.nodes = {test::onnx::node("Relu", {"x"}, "y", {})};
  parts.outputs = {test::onnx::value("y", {-1, 1, 2048, 2048})};
  EXPECT_EQ(Model::load(write_network("large.onnx", parts), on_cpu()).pass_size(), 8);
}

}  // namespace
}  // namespace lenslet
