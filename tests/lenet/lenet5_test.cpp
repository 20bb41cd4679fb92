// The graph of LeNet-5 and its requirements for weights.
#include "models/lenet5.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "models/classifier.h"
#include "tests/lenet/lenet_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

Safetensors default_weights() { return builtin_lenet5_weights(); }

TEST(Lenet5, HasTheShapesAndTheWorkOfThePaper) {
  const Graph& graph = lenet5();
  const std::vector<Shape> shapes = graph.infer_shapes(3);
  std::vector<std::string> found;
  for (const Shape& shape : shapes) found.push_back(shape.to_string());
  const std::vector<std::string> expected = {"3x1x28x28", "3x6x24x24", "3x6x24x24", "3x6x12x12",
                                             "3x16x8x8",  "3x16x8x8",  "3x16x4x4",  "3x120",
                                             "3x120",     "3x84",      "3x84",      "3x10"};
  EXPECT_EQ(found, expected);

  int64_t parameters = 0;
  for (const auto& [name, tensor] : default_weights().tensors) parameters += tensor.shape().num_elements();
  EXPECT_EQ(parameters, 44426);
  double multiply_adds = 0;
  for (const Graph::Node& node : graph.nodes()) {
    if (!node.layer || !node.layer->uses_math()) continue;
    multiply_adds += node.layer->work(node.input_shapes(graph.infer_shapes(1))).flops / 2;
  }
  EXPECT_EQ(multiply_adds, 281640);
}

TEST(Lenet5, ListsEverythingThatIsWrongWithTheWeights) {
  Safetensors weights = default_weights();
  weights.tensors.erase("conv2.bias");
  weights.tensors["fc1.weight"] = Tensor({256, 120});
  weights.tensors["fc4.weight"] = Tensor({2, 2});
  const auto make = [&] { make_lenet5(weights, "w.safetensors"); };
  expect_error<DataError>(make, "w.safetensors: not the weights of LeNet-5: ", "missing conv2.bias [16]",
                          "fc1.weight must be [120x256], found [256x120] (transposed?)",
                          "unexpected fc4.weight [2x2]");
}

// Programs shorten their message; a C++ caller gets it in bounded length too.
TEST(Lenet5, ListsNoMoreTensorsThanCanBeRead) {
  Safetensors weights = default_weights();
  for (int i = 0; i < 3000; ++i)
    weights.tensors["t" + std::to_string(i) + std::string(150, 'x')] = Tensor({1});
  const auto make = [&] { make_lenet5(weights, "w.safetensors"); };
  EXPECT_LT(expect_error<DataError>(make, "; and 2976 more").size(), 3000u);
}

TEST(Lenet5, NormalisesAsTheTrainingDid) {
  const Safetensors& golden = golden_activations();
  const Tensor& bytes = golden.tensors.at("input_u8");
  const Tensor& expected = golden.tensors.at("input");
  std::vector<uint8_t> pixels(static_cast<size_t>(bytes.shape().num_elements()));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(bytes.data()[i]);
  std::vector<float> actual(pixels.size());
  normalise_mnist(pixels.data(), bytes.shape()[0], actual.data());
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.shape().bytes()), 0)
      << "must agree bit for bit";
}

TEST(Lenet5, ObeysNoTemperatureButOne) {
  Safetensors weights = default_weights();
  for (const char* said : {"1", "1.0", "1e0"}) {
    weights.metadata["temperature"] = said;
    EXPECT_NO_THROW(make_lenet5(weights, "file")) << said;
  }
  for (const char* said : {"0.99", "2", "0", "", "warm", "nan"}) {
    weights.metadata["temperature"] = said;
    expect_error<DataError>([&] { make_lenet5(weights, "file"); },
                            std::string("file: its metadata have temperature \"") + said + "\", expected ");
  }
}

TEST(Lenet5, ReadsTheThresholdOfTheEnergy) {
  Safetensors weights = default_weights();
  EXPECT_FALSE(lenet5_energy_threshold(weights, "file"));
  weights.metadata["energy_threshold"] = "-4.25";
  EXPECT_EQ(lenet5_energy_threshold(weights, "file"), -4.25);
  for (const char* said : {"", "4,2", "1001", "-1001", "inf", "nan", " 4"}) {
    weights.metadata["energy_threshold"] = said;
    expect_error<DataError>([&] { lenet5_energy_threshold(weights, "file"); },
                            std::string("energy_threshold \"") + said + "\", expected a decimal number");
  }
}

TEST(Lenet5, EnergyIsTheLogOfTheSum) {
  const float equal[4] = {1000, 1000, 1000, 1000}, one[3] = {-2, -1000, -1000};
  EXPECT_NEAR(energy(equal, 4), 1000 + std::log(4.0), 1e-12);
  EXPECT_NEAR(energy(one, 3), -2, 1e-12);
}

TEST(Lenet5, RankedGuessesAreInOrderAndTheFirstOfEqualOnesIsFirst) {
  const float logits[4] = {1, 3, 3, 2};
  const std::vector<Guess> top = ranked(logits, 4, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].digit, 1);
  EXPECT_EQ(top[1].digit, 2);
  EXPECT_EQ(top[2].digit, 3);
  EXPECT_EQ(top[0].probability, top[1].probability);
  EXPECT_EQ(ranked(logits, 2, 3).size(), 2u);
  const float infinite[2] = {INFINITY, 0};
  EXPECT_TRUE(ranked(infinite, 2, 3).empty());
}

TEST(Lenet5, SoftmaxIsStableAndSumsToOne) {
  const float logits[4] = {1000, 999, -1000, 1000};
  double p[4];
  softmax(logits, 4, p);
  EXPECT_NEAR(p[0] + p[1] + p[2] + p[3], 1, 1e-15);
  EXPECT_EQ(p[0], p[3]);
  EXPECT_NEAR(p[1] / p[0], std::exp(-1.0), 1e-15);
  EXPECT_EQ(p[2], 0);
}

}  // namespace
}  // namespace lenslet
