// Internal: LeNet-5 in an ONNX graph, whatever its nodes are called.
#pragma once

#include <optional>
#include <string>

#include "framework/io/safetensors.h"
#include "models/onnx/shape/shapes.h"

namespace lenslet::onnx {

/// Either the weights, under the names of weights/FORMAT.md, or what the graph has instead of LeNet-5.
struct Lenet5Match {
  Safetensors weights;     // with the model's metadata `mean` and `std`
  std::string difference;  // empty if the graph is LeNet-5
  /// The shape of a sample with channels last, as Keras's 28x28x1; such a network reads pixels / 255.
  std::optional<Shape> input_shape = {};
};

/// Compares the graph with LeNet-5: convolutions, ReLU and max pooling in either order, linear layers as Gemm or MatMul
/// with a bias of their own or added after, weights transposed or reshaped by nodes, flattening of any form, also
/// channels last after a Transpose. A batch frozen to 1 is a free batch, because each of these computes every sample
/// alone.
Lenet5Match match_lenet5(const Model& model, const Values& values, const std::string& origin);

}  // namespace lenslet::onnx
