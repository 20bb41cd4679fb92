#include "models/lenet5.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "framework/base/clause_list.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "layers/conv/conv_layer.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/relu/relu_layer.h"
#include "models/fused_lenet5/fold.h"
#include "models/fused_lenet5/fused_lenet5.h"

namespace lenslet {

namespace embedded {  // weights/CMakeLists.txt
extern const unsigned char lenet5_weights[];
extern const std::size_t lenet5_weights_size;
extern const unsigned char lenet5_robust_weights[];
extern const std::size_t lenet5_robust_weights_size;
}  // namespace embedded

namespace {

struct ExpectedTensor {
  const char* name;
  Shape shape;
};

const std::vector<ExpectedTensor>& expected_tensors() {
  static const std::vector<ExpectedTensor> tensors = {
      {"conv1.weight", {6, 1, 5, 5}},  {"conv1.bias", {6}},
      {"conv2.weight", {16, 6, 5, 5}}, {"conv2.bias", {16}},
      {"fc1.weight", {120, 256}},      {"fc1.bias", {120}},
      {"fc2.weight", {84, 120}},       {"fc2.bias", {84}},
      {"fc3.weight", {10, 84}},        {"fc3.bias", {10}},
  };
  return tensors;
}

bool is_transposed(const Shape& found, const Shape& expected) {
  return found.rank() == 2 && expected.rank() == 2 && found[0] == expected[1] && found[1] == expected[0];
}

// Reports all faults at once, up to a readable length.
void check_tensors(const Safetensors& weights, const std::string& origin) {
  constexpr size_t kMaxListed = 24, kMaxOfName = 60;  // LeNet-5 has ten tensors; 24 faults are about a screen
  ClauseList wrong(kMaxListed);
  for (const ExpectedTensor& expected : expected_tensors()) {
    const auto found = weights.tensors.find(expected.name);
    if (found == weights.tensors.end()) {
      wrong.add(concat("missing ", expected.name, " [", expected.shape.to_string(), "]"));
    } else if (found->second.shape() != expected.shape) {
      const Shape& shape = found->second.shape();
      wrong.add(concat(expected.name, " must be [", expected.shape.to_string(), "], found [",
                       shape.to_string(), "]", is_transposed(shape, expected.shape) ? " (transposed?)" : ""));
    }
  }
  for (const auto& [name, tensor] : weights.tensors) {
    const auto& all = expected_tensors();
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&found = name](const ExpectedTensor& e) { return found == e.name; });
    if (!known)
      wrong.add(
          concat("unexpected ", printable_excerpt(name, kMaxOfName), " [", tensor.shape().to_string(), "]"));
  }
  if (const std::string faults = wrong.text(); !faults.empty())
    throw DataError(concat(origin, ": not the weights of LeNet-5: ", faults));
}

void check_model(const Safetensors& weights, const std::string& origin) {
  const auto model = weights.metadata.find("model");
  if (model != weights.metadata.end() && model->second != "lenet5") {
    throw DataError(concat(origin, ": its metadata have model \"", printable_excerpt(model->second),
                           "\", expected \"lenet5\" or none"));
  }
}

// A temperature belongs into fc3, where every plan, device and interface obeys it.
void check_temperature(const Safetensors& weights, const std::string& origin) {
  const auto found = weights.metadata.find("temperature");
  if (found == weights.metadata.end() || metadata_number(*found, 0.01f, 100, origin) == 1) return;
  throw DataError(concat(origin, ": its metadata have temperature \"", printable_excerpt(found->second),
                         "\", expected 1 or none: divide fc3.weight and fc3.bias by it"));
}

Tensor clone(const Tensor& source) {
  Tensor copy(source.shape());
  std::memcpy(copy.data(), source.data(), source.shape().bytes());
  return copy;
}

}  // namespace

Graph make_lenet5(const Safetensors& weights, const std::string& origin) {
  check_model(weights, origin);
  check_temperature(weights, origin);
  check_tensors(weights, origin);
  const auto tensor = [&](const std::string& name) { return clone(weights.tensors.at(name)); };
  const auto conv = [&](const std::string& name) {
    const Shape& shape = weights.tensors.at(name + ".weight").shape();
    Conv2dProblem geometry;
    geometry.name = name;
    geometry.k = static_cast<int>(shape[0]);
    geometry.c = static_cast<int>(shape[1]);
    geometry.r = static_cast<int>(shape[2]);
    geometry.s = static_cast<int>(shape[3]);
    return std::make_unique<Conv2dLayer>(geometry, tensor(name + ".weight"), tensor(name + ".bias"));
  };
  const auto linear = [&](const std::string& name) {
    return std::make_unique<LinearLayer>(tensor(name + ".weight"), tensor(name + ".bias"));
  };
  const auto pool = [] { return std::make_unique<MaxPool2dLayer>(Pool2dWindow::square(2, 2)); };
  const auto relu = [] { return std::make_unique<ReluLayer>(); };

  Graph graph("lenet5", "input", {1, kLenet5Side, kLenet5Side});
  graph.add("conv1", conv("conv1"), {"input"});
  graph.add("relu1", relu(), {"conv1"});
  graph.add("pool1", pool(), {"relu1"});
  graph.add("conv2", conv("conv2"), {"pool1"});
  graph.add("relu2", relu(), {"conv2"});
  graph.add("pool2", pool(), {"relu2"});
  graph.add("fc1", linear("fc1"), {"pool2"});
  graph.add("relu3", relu(), {"fc1"});
  graph.add("fc2", linear("fc2"), {"relu3"});
  graph.add("relu4", relu(), {"fc2"});
  graph.add("fc3", linear("fc3"), {"relu4"});
  graph.set_normalisation(lenet5_normalisation(weights, origin));
  graph.set_network(make_fused_lenet5(weights));
  return graph;
}

Safetensors builtin_lenet5_weights(BuiltinWeights set) {
  return set == BuiltinWeights::kMnist
             ? parse_safetensors(embedded::lenet5_weights, embedded::lenet5_weights_size,
                                 "the built-in weights")
             : parse_safetensors(embedded::lenet5_robust_weights, embedded::lenet5_robust_weights_size,
                                 "the built-in robust weights");
}

std::optional<double> lenet5_energy_threshold(const Safetensors& weights, const std::string& origin) {
  const auto found = weights.metadata.find("energy_threshold");
  if (found == weights.metadata.end()) return std::nullopt;
  return metadata_number(*found, -1000, 1000, origin);
}

void normalise_mnist(const uint8_t* pixels, int64_t count, float* out) {
  static const Normalisation mnist(kMnistMean, kMnistStd);
  mnist.apply(pixels, count * kLenet5Pixels, out);
}

}  // namespace lenslet
