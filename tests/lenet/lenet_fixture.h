// What the LeNet-5 tests share: the graph with the default weights, every legal choice of convolution
// backends, the golden activations from PyTorch and, where it is there, the MNIST test set.
#pragma once

#include <string>
#include <vector>

#include "framework/executable.h"
#include "framework/io/idx.h"
#include "framework/io/safetensors.h"
#include "models/lenet5.h"

namespace lenslet {

const Graph& lenet5();
const Safetensors& golden_activations();

/// "conv1=A,conv2=B" for every pair of backends that serve on that device in fp32.
std::vector<std::string> conv_pairs(Device device);

/// Runs the golden inputs layer by layer and compares every activation with PyTorch's, as
/// stored in fp64 and rounded.
void check_golden_activations(Device device, const std::string& backends, bool fuse);

/// The convolutions with their ReLU and pooling as one operator each give the same bits as three operators, where both
/// are computed by `direct`; the layers say what is fused into them.
void check_fused_pooling(Device device, int64_t batch);

/// Folder of MNIST, or empty.
std::string mnist_folder();
/// Classifies the 10,000 test images and compares logits and digits with PyTorch's.
void check_mnist_predictions(Device device, const std::string& backends, int64_t batch);

}  // namespace lenslet
