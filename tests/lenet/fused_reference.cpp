#include "tests/lenet/fused_reference.h"

#include <algorithm>
#include <string>

#include "layers/reference/fill.h"
#include "layers/reference/reference.h"

namespace lenslet {

Safetensors random_lenet5_parameters() {
  const auto fill = [](Shape shape, double scale, uint64_t seed) {
    Tensor tensor(shape);
    const std::vector<float> values =
        reference::uniform_values(static_cast<size_t>(shape.num_elements()), seed);
    std::transform(values.begin(), values.end(), tensor.data(),
                   [scale](float v) { return static_cast<float>(scale * v); });
    return tensor;
  };
  Safetensors all;
  all.tensors["conv1.weight"] = fill({6, 1, 5, 5}, 0.3, 1);
  all.tensors["conv1.bias"] = fill({6}, 0.3, 2);
  all.tensors["conv2.weight"] = fill({16, 6, 5, 5}, 0.2, 3);
  all.tensors["conv2.bias"] = fill({16}, 0.3, 4);
  all.tensors["fc1.weight"] = fill({120, 256}, 0.1, 5);
  all.tensors["fc1.bias"] = fill({120}, 0.3, 6);
  all.tensors["fc2.weight"] = fill({84, 120}, 0.15, 7);
  all.tensors["fc2.bias"] = fill({84}, 0.3, 8);
  all.tensors["fc3.weight"] = fill({10, 84}, 0.2, 9);
  all.tensors["fc3.bias"] = fill({10}, 0.3, 10);
  return all;
}

std::vector<double> reference_logits(const Safetensors& parameters, const std::vector<float>& images,
                                     double* largest_sum) {
  const auto data = [&](const char* name) { return parameters.tensors.at(name).data(); };
  Conv2dProblem conv1 = Conv2dProblem::parse("mb1ic1ih28oc6oh24kh5");
  Conv2dProblem conv2 = Conv2dProblem::parse("mb1ic6ih12oc16oh8kh5");
  conv1.n = conv2.n = static_cast<int>(images.size() / (28 * 28));
  double largest = 0;
  reference::Result at;
  // The sums of the layer just computed are taken before its values go on.
  const auto rounded = [&] {
    for (const double sum : at.magnitudes) largest = std::max(largest, sum);
    return std::vector<float>(at.values.begin(), at.values.end());
  };
  at = reference::conv2d(conv1, images.data(), data("conv1.weight"), data("conv1.bias"), true);
  at = reference::max_pool2d(at.shape, rounded().data(), {});
  at = reference::conv2d(conv2, rounded().data(), data("conv2.weight"), data("conv2.bias"), true);
  at = reference::max_pool2d(at.shape, rounded().data(), {});
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    const std::string layer = name;
    const int64_t outputs = parameters.tensors.at(layer + ".bias").shape()[0];
    at = reference::linear(at.shape, rounded().data(), outputs, data((layer + ".weight").c_str()),
                           data((layer + ".bias").c_str()));
    if (layer != "fc3") at = reference::relu(at.shape, rounded().data());
  }
  rounded();
  if (largest_sum) *largest_sum = largest;
  return at.values;
}

}  // namespace lenslet
