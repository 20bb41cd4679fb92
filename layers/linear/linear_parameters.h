// Internal: weights and bias of a linear layer in the layer's own order, for operators that do not repack them.
#pragma once

#include "framework/tensor/tensor.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {

/// Copies in the memory of the stream's device.
struct LinearParameters {
  LinearParameters(const LinearProblem& problem, Stream& stream)
      : weights(Shape{problem.outputs, problem.inputs}, stream.device()),
        bias(Shape{problem.bias ? problem.outputs : 0}, stream.device()) {
    upload(problem.weights, weights, stream);
    upload(problem.bias, bias, stream);
  }

  Tensor weights;  // [outputs, inputs]
  Tensor bias;     // [outputs]; its data() is null without a bias

 private:
  static void upload(const float* from, Tensor& to, Stream& stream) {
    copy_bytes(to.data(), to.device(), from, Device::cpu(), to.shape().bytes(), stream);
  }
};

}  // namespace lenslet
