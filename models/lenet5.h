// LeNet-5 (LeCun, Bottou, Bengio, Haffner 1998) in its common modern form: ReLU and max-pooling, no padding.
//
//   1x28x28 -> conv1 6@5x5 -> relu1 -> pool1 2x2 -> conv2 16@5x5 -> relu2 -> pool2 2x2
//           -> fc1 120 -> relu3 -> fc2 84 -> relu4 -> fc3 10
// 44,426 parameters, 281,640 multiply-adds per image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/graph/graph.h"
#include "framework/io/safetensors.h"
#include "models/lenet5_sizes.h"
#include "models/mnist.h"

namespace lenslet {

/// Builds the graph from conv1, conv2, fc1, fc2, fc3 (.weight and .bias, PyTorch's shapes). The normalisation comes
/// from the metadata `mean` and `std`; default MNIST's. Throws DataError with all missing, unexpected and mis-shaped
/// tensors at once, for metadata of another `model`, an invalid normalisation, and a `temperature` other than 1.
Graph make_lenet5(const Safetensors& weights, const std::string& origin);

/// The sets of weights compiled into the program (weights/README.md): the best for MNIST's images, and one that reads
/// pictures that people take and refuses what is no digit.
enum class BuiltinWeights { kMnist, kRobust };
/// The tensors and metadata of a built-in set.
Safetensors builtin_lenet5_weights(BuiltinWeights set = BuiltinWeights::kMnist);

/// The metadata `energy_threshold`: a picture whose energy() (models/classifier.h) is not above it shows no digit.
/// None: the file has no such entry. Throws DataError for anything but a decimal number from -1000 to 1000.
std::optional<double> lenet5_energy_threshold(const Safetensors& weights, const std::string& origin);

/// Normalises `count` images of 28x28 bytes for the built-in weights, with MNIST's mean and std. Other weights may need
/// Graph::normalisation().
void normalise_mnist(const uint8_t* pixels, int64_t count, float* out);

}  // namespace lenslet
