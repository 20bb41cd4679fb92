// The network of docs/own_network.md, as the page has it, compared with fp64 layer by layer.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/reference/fill.h"
#include "layers/reference/reference.h"
#include "tests/support/expect_error.h"

#define main main_of_the_page
#include "tests/embedding_page.h"  // the program of the page, extracted by tests.cmake
#undef main

namespace lenslet {
namespace {

Tensor random_tensor(Shape shape, uint64_t seed) {
  Tensor tensor(shape);
  const auto count = static_cast<size_t>(shape.num_elements());
  const std::vector<float> values = reference::uniform_values(count, seed);
  // Small enough that tanh is not at its ends.
  for (size_t i = 0; i < count; ++i) tensor.data()[i] = values[i] * 0.2f;
  return tensor;
}

Safetensors random_weights() {
  const std::pair<const char*, Shape> shapes[] = {{"conv1", {6, 1, 5, 5}},
                                                  {"conv2", {16, 6, 5, 5}},
                                                  {"fc1", {120, 400}},
                                                  {"fc2", {84, 120}},
                                                  {"fc3", {10, 84}}};
  Safetensors weights;
  uint64_t seed = 1;
  for (const auto& [name, shape] : shapes) {
    weights.tensors.emplace(std::string(name) + ".weight", random_tensor(shape, seed++));
    weights.tensors.emplace(std::string(name) + ".bias", random_tensor({shape[0]}, seed++));
  }
  return weights;
}

std::vector<float> tanh_of(const reference::Result& result) {
  std::vector<float> values;
  for (const double value : result.values) values.push_back(static_cast<float>(std::tanh(value)));
  return values;
}

std::vector<double> reference_logits(const Safetensors& weights, std::vector<float> x, int batch) {
  const auto data = [&](const std::string& name) { return weights.tensors.at(name).data(); };
  Shape shape = {batch, 1, 32, 32};
  for (const std::string name : {"conv1", "conv2"}) {
    Conv2dProblem problem;
    problem.n = batch;
    problem.c = static_cast<int>(shape[1]);
    problem.h = problem.w = static_cast<int>(shape[2]);
    problem.k = static_cast<int>(weights.tensors.at(name + ".bias").shape()[0]);
    problem.r = problem.s = 5;
    const reference::Result sums =
        reference::conv2d(problem, x.data(), data(name + ".weight"), data(name + ".bias"), false);
    const std::vector<float> activated = tanh_of(sums);
    const reference::Result pooled = reference::avg_pool2d(sums.shape, activated.data(), {}, true);
    x.assign(pooled.values.begin(), pooled.values.end());
    shape = pooled.shape;
  }
  shape = {batch, 400};
  for (const std::string name : {"fc1", "fc2", "fc3"}) {
    const int64_t outputs = weights.tensors.at(name + ".bias").shape()[0];
    const reference::Result sums =
        reference::linear(shape, x.data(), outputs, data(name + ".weight"), data(name + ".bias"));
    if (name == "fc3") return sums.values;
    x = tanh_of(sums);
    shape = {batch, outputs};
  }
  return {};
}

TEST(OwnGraph, OfThePageAgreesWithFp64) {
  // The logits are below 1 and the sums have at most 400 products: roundings of fp32 of random signs add up to
  // sqrt(400) * 2^-24 = 1.2e-6. Four times that.
  constexpr double kTolerance = 5e-6;
  const Graph graph = make_network(random_weights());
  for (const int batch : {1, 3}) {
    const std::vector<float> images = reference::uniform_values(static_cast<size_t>(batch) * 32 * 32, 99);
    const std::vector<float> logits = run_network(graph, images, batch);
    const std::vector<double> expected = reference_logits(random_weights(), images, batch);
    ASSERT_EQ(logits.size(), expected.size());
    for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], kTolerance) << i;
    EXPECT_GT(std::fabs(expected[0] - expected[1]), 1e-3) << "the weights give different logits";
  }
}

TEST(OwnGraph, RefusesWeightsOfAnotherNetwork) {
  Safetensors weights = random_weights();
  weights.tensors.erase("conv2.bias");
  expect_error<DataError>([&] { make_network(std::move(weights)); }, "no tensor conv2.bias");
}

}  // namespace
}  // namespace lenslet
