// The convolutions of LeNet-5 in 8-bit integers: what their derivation promises, and how many digits they change.
#include "models/fused_lenet5/quantise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "framework/base/parallel.h"
#include "layers/conv/conv_registry.h"
#include "models/digit/image_dataset.h"
#include "models/fused_lenet5/error_bound.h"
#include "tests/lenet/fused_reference.h"
#include "tests/lenet/lenet_fixture.h"
#include "tests/lenet/quantised_reference.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

constexpr int kTaps = 25;

struct NamedWeights {
  std::string name;
  Safetensors weights;
};

void scale(Safetensors& weights, const char* name, float factor) {
  Tensor& tensor = weights.tensors.at(name);
  for (int64_t i = 0; i < tensor.shape().num_elements(); ++i) tensor.data()[i] *= factor;
}
Safetensors scaled(const char* name, float factor) {
  Safetensors weights = random_lenet5_parameters();
  scale(weights, name, factor);
  return weights;
}

std::vector<NamedWeights> all_weights() {
  std::vector<NamedWeights> all;
  all.push_back({"mnist", builtin_lenet5_weights()});
  all.push_back({"robust", builtin_lenet5_weights(BuiltinWeights::kRobust)});
  all.push_back({"random", random_lenet5_parameters()});
  for (const char* const name : {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"}) {
    for (const float factor : {0.0f, 1e-6f, 1e6f})
      all.push_back({concat(name, " ", factor), scaled(name, factor)});
  }
  all.push_back({"negative", random_lenet5_parameters()});
  for (const char* const name : {"conv1.weight", "conv1.bias"}) {
    Tensor& tensor = all.back().weights.tensors.at(name);
    for (int64_t i = 0; i < tensor.shape().num_elements(); ++i)
      tensor.data()[i] = -std::abs(tensor.data()[i]);
  }
  return all;
}

/// The largest sum of a filter on bytes, of either sign.
template <typename Weights>
int64_t largest_sum(const Weights& weights, size_t filter, size_t count, int32_t bias) {
  int64_t sum = std::abs(int64_t{bias});
  for (size_t i = 0; i < count; ++i) sum += 255 * std::abs(int64_t{weights[filter * count + i]});
  return sum;
}

TEST(Quantise, NoSumAndNoByteOverflows) {
  for (const auto& [name, weights] : all_weights()) {
    SCOPED_TRACE(name);
    const QuantisedConvolutions q = quantise_convolutions(lenet5_parameters(weights));
    for (size_t c = 0; c < 6; ++c) {
      EXPECT_LT(largest_sum(q.conv1_weight, c, kTaps, q.conv1_bias[c]), 1 << 22) << c;
      const double steps = std::ldexp(double{q.conv1_scale[c]}, 22);
      EXPECT_EQ(steps, std::floor(steps)) << c;
      EXPECT_GE(steps, 1) << c;
      int64_t largest = q.conv1_bias[c];
      for (size_t i = 0; i < kTaps; ++i) largest += 255 * std::max<int64_t>(q.conv1_weight[c * kTaps + i], 0);
      EXPECT_LE(std::nearbyint(static_cast<double>(largest) * double{q.conv1_scale[c]}), 255) << c;
    }
    for (size_t f = 0; f < 16; ++f) {
      EXPECT_LT(largest_sum(q.conv2_weight, f, 6 * kTaps, q.conv2_bias[f]), 1 << 22) << f;
      const float zero = 3 << 22;  // what sums start from: its product must be exact
      EXPECT_EQ(double{zero * q.conv2_scale[f]}, double{zero} * double{q.conv2_scale[f]}) << f;
    }
  }
}

// With trained weights the bytes of h1 and the weights use most of their range.
TEST(Quantise, UsesTheRangeOfBytes) {
  for (const BuiltinWeights set : {BuiltinWeights::kMnist, BuiltinWeights::kRobust}) {
    const QuantisedConvolutions q = quantise_convolutions(lenet5_parameters(builtin_lenet5_weights(set)));
    const auto magnitude = [](int8_t a, int8_t b) { return std::abs(a) < std::abs(b); };
    for (size_t f = 0; f < 16; ++f) {
      const auto* const first = q.conv2_weight.data() + f * 150;
      EXPECT_GE(std::abs(*std::max_element(first, first + 150, magnitude)), 127) << f;
    }
    for (size_t c = 0; c < 6; ++c) {
      int64_t largest = q.conv1_bias[c];
      for (size_t i = 0; i < kTaps; ++i) largest += 255 * std::max<int64_t>(q.conv1_weight[c * kTaps + i], 0);
      EXPECT_GT(static_cast<double>(largest) * double{q.conv1_scale[c]}, 254) << c;
    }
  }
}

// Roundings of a 5 x 5 part add up to at most a unit and a half, those of a filter to half of one.
TEST(Quantise, KeepsTheSumsOfFilters) {
  for (const BuiltinWeights set : {BuiltinWeights::kMnist, BuiltinWeights::kRobust}) {
    const Lenet5Parameters parameters = lenet5_parameters(builtin_lenet5_weights(set));
    const QuantisedConvolutions q = quantise_convolutions(parameters);
    for (size_t f = 0; f < 16; ++f) {
      double whole = 0;
      for (size_t c = 0; c < 6; ++c) {
        double off = 0;
        for (size_t i = 0; i < kTaps; ++i) {
          const size_t at = (f * 6 + c) * kTaps + i;
          off += q.conv2_weight[at] -
                 double{parameters.conv2_weight.data()[at]} * q.h1_unit[c] / double{q.conv2_scale[f]};
        }
        EXPECT_LE(std::abs(off), 1.51) << f << " " << c;
        whole += off;
      }
      EXPECT_LE(std::abs(whole), 0.51) << f;
    }
  }
}

TEST(Quantise, RefusesWeightsThatAreNotFinite) {
  for (const char* const name : {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"}) {
    Safetensors weights = random_lenet5_parameters();
    weights.tensors.at(name).data()[1] = NAN;
    expect_error<DataError>([&] { quantise_convolutions(lenet5_parameters(weights)); }, "not finite",
                            "choose math");
  }
}

// The layers one by one, whose backends read fp32 values, and the convolutions of convbench.
TEST(Quantise, LayersRefuseInt8) {
  int refused = 0;
  for (const Device device : {Device::cpu(), Device::cuda()}) {
    Shape shape{2, 1, 28, 28};
    for (const Graph::Node& node : lenet5().nodes()) {
      if (!node.layer) continue;
      const OperatorRequest request = request_for(*node.layer, {shape}, device, MathMode::kInt8);
      for (const std::string& backend : node.layer->backends(device.kind)) {
        if (!node.layer->uses_math()) break;
        const Support support = node.layer->supports(backend, request);
        EXPECT_NE(support.reason().find("int8 needs a backend that reads bytes: use "), std::string::npos)
            << node.name << " " << backend << ": " << support.reason();
        ++refused;
      }
      shape = node.layer->infer_shape({shape});
    }
    const Conv2dProblem problem = Conv2dProblem::parse("mb2ic6ih12oc16oh8kh5");
    for (const ConvBackendEntry& entry : conv_backend_entries(device.kind)) {
      if (entry.kind() == ConvBackendEntry::Kind::kBuiltIn) {
        EXPECT_NE(entry.supports(problem, MathMode::kInt8).reason().find("int8 needs"), std::string::npos)
            << entry.name();
      }
    }
  }
  EXPECT_GT(refused, 10);
}

std::vector<double> logits_of(const Safetensors& weights, std::vector<double> values) {
  for (const char* const name : {"fc1", "fc2", "fc3"}) {
    const std::string layer = name;
    const float* const weight = weights.tensors.at(layer + ".weight").data();
    const Tensor& bias = weights.tensors.at(layer + ".bias");
    std::vector<double> next(static_cast<size_t>(bias.shape()[0]));
    for (size_t o = 0; o < next.size(); ++o) {
      next[o] = double{bias.data()[o]};
      for (size_t i = 0; i < values.size(); ++i) next[o] += double{weight[o * values.size() + i]} * values[i];
      if (layer != "fc3") next[o] = std::max(next[o], 0.0);
    }
    values = next;
  }
  return values;
}

TEST(Quantise, ChangesAtMostThreeOfTheTestDigitsWithinTheBound) {
  LENSLET_SKIP_WITHOUT_MNIST();
  constexpr int kMaxChanged = 3;
  const ImageDataset data = read_image_dataset(mnist_folder(), "t10k", 28, 28);
  for (const BuiltinWeights set : {BuiltinWeights::kMnist, BuiltinWeights::kRobust}) {
    const Safetensors weights = builtin_lenet5_weights(set);
    const Lenet5Parameters parameters = lenet5_parameters(weights);
    const QuantisedConvolutions q = quantise_convolutions(parameters);
    const LayerRounding fp32;
    const double bound = quantised_lenet5_logit_bound(parameters, with_quantised_values(parameters, q),
                                                      q.h1_unit, {fp32, fp32, fp32, fp32, fp32});
    const Graph graph = make_lenet5(weights, "the test");
    BuildOptions options = options_on(Device::cpu(), data.count, Plan::kFused);
    options.input = ElementType::kUint8;
    Executable executable(graph, options);
    copy_bytes(executable.input().data, Device::cpu(), data.images.data(), Device::cpu(), data.images.size(),
               executable.stream());
    executable.run();
    const float* const expected = static_cast<const float*>(executable.output().data);
    std::vector<double> logits(static_cast<size_t>(data.count) * 10);
    parallel_for(data.count, 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const std::array<float, 256> h2 = quantised_h2(q, data.images.data() + i * 784);
        const std::vector<double> row = logits_of(weights, {h2.begin(), h2.end()});
        std::copy(row.begin(), row.end(), logits.begin() + i * 10);
      }
    });
    const auto label = [](const auto* row) { return std::max_element(row, row + 10) - row; };
    int changed = 0;
    double largest = 0;
    for (int64_t i = 0; i < data.count; ++i)
      changed += label(logits.data() + i * 10) != label(expected + i * 10);
    for (size_t i = 0; i < logits.size(); ++i)
      largest = std::max(largest, std::abs(logits[i] - double{expected[i]}));
    EXPECT_LE(changed, kMaxChanged);
    EXPECT_LE(largest, bound);
    const std::string name = set == BuiltinWeights::kMnist ? "mnist" : "robust";
    RecordProperty(name + "_changed", changed);
    RecordProperty(name + "_error", std::to_string(largest));
    RecordProperty(name + "_bound", std::to_string(bound));
  }
}

}  // namespace
}  // namespace lenslet
