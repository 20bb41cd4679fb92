// Common parts of the LeNet-5 tests: the graph with the default weights, every supported pair of convolution backends,
// the golden activations from PyTorch and, if present, the MNIST test set.
#pragma once

#include <string>
#include <vector>

#include "framework/io/safetensors.h"
#include "models/digit/image_dataset.h"
#include "tests/support/lenet5.h"

namespace lenslet {

const Safetensors& golden_activations();

/// "conv1=A,conv2=B" for every pair of backends that support fp32 on that device.
std::vector<std::string> conv_pairs(Device device);

/// Runs the golden inputs layer by layer and compares every activation with PyTorch's fp64 values, rounded.
void check_golden_activations(Device device, const std::string& backends, bool fuse);

/// Each convolution with its ReLU and pooling as one operator gives the same bits as three operators, if `direct`
/// computes both; the steps list the fused layers.
void check_fused_pooling(Device device, int64_t batch);

/// Folder of MNIST; empty without one.
std::string mnist_folder();
#define LENSLET_SKIP_WITHOUT_MNIST() \
  if (mnist_folder().empty()) GTEST_SKIP() << "LENSLET_MNIST_DIR is not set: no MNIST test set to read"
/// Classifies the 10,000 test images and compares logits and digits with PyTorch's.
void check_mnist_predictions(Device device, const std::string& backends, int64_t batch);

}  // namespace lenslet
