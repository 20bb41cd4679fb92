// A convolution's kernel prepared and launched on a simulated GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/conv/conv_fixture.h"

namespace lenslet {

/// With bias and ReLU.
inline std::unique_ptr<ConvKernel> prepare(const ConvBackend& backend, const Conv2dProblem& problem,
                                           MathMode math, size_t limit,
                                           const std::optional<Pool2dWindow>& window, Stream& stream,
                                           const ConvEnds& ends = {}) {
  DevicePrepareServices services(stream);
  const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements())),
      bias(static_cast<size_t>(problem.k));
  return backend.prepare({problem, math, weights.data(), bias.data(),
                          backend.fuses_rectifier(Rectifier(true)), limit, services, stream, "", window,
                          ends});
}

/// Launches it on memory that is never read: a simulated GPU runs no kernel.
inline void run(ConvKernel& kernel, Stream& stream) {
  const Buffer x(stream.device(), 256), y(stream.device(), 256), workspace(stream.device(), 256);
  RunContext context{stream, workspace.data(), nullptr};
  kernel.convolve({x.as<float>(), y.as<float>()}, context);
}

}  // namespace lenslet
