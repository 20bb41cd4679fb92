// Convolution backends on the CPU read and write the elements of their tensors and no others: each tensor lies at a
// page without access, so that anything else ends the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/device/device_memory.h"
#include "tests/conv/conv_fixture.h"
#include "tests/support/fenced.h"

namespace lenslet {
namespace {

using test::Fence;
using test::Fenced;

class ConvReach : public OpenedConvBackend {};

TEST_P(ConvReach, StaysInsideItsTensors) {
  Stream stream(Device::cpu());
  DevicePrepareServices services(stream, DevicePrepareServices::Timing::kOnce);
  int ran = 0;
  std::string reason;
  for (const char* list : {"tails", "asymmetric", "depthwise"}) {
    for (const Conv2dProblem& problem : problems_of(GetParam(), list)) {
      if (problem.flops() > 1e8) continue;
      if (const Support support = backend_->supports(problem, MathMode::kFp32); !support) {
        reason = support.reason();
        continue;
      }
      for (const Fence fence : {Fence::kBefore, Fence::kBehind}) {
        SCOPED_TRACE(problem.to_string());
        Fenced weights(static_cast<size_t>(problem.weight_shape().num_elements()), fence),
            bias(static_cast<size_t>(problem.k), fence),
            x(static_cast<size_t>(problem.input_shape().num_elements()), fence),
            y(static_cast<size_t>(problem.output_shape().num_elements()), fence);
        for (Fenced* values : {&weights, &bias, &x}) std::fill(values->begin(), values->end(), 0.25f);
        std::fill(y.begin(), y.end(), NAN);
        std::unique_ptr<ConvKernel> kernel;
        try {
          kernel = backend_->prepare(
              {problem, MathMode::kFp32, weights.data(), bias.data(), false, SIZE_MAX, services, stream});
        } catch (const UnavailableError& error) {
          reason = error.what();
          continue;
        }
        const Buffer workspace(Device::cpu(), kernel->workspace_bytes());
        RunContext context{stream, workspace.data(), nullptr};
        kernel->convolve({x.data(), y.data()}, context);
        ++ran;
        EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float value) { return std::isfinite(value); }));
      }
    }
  }
  if (ran == 0) GTEST_SKIP() << reason;
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvReach, testing::ValuesIn(backend_names()), ByName());

}  // namespace
}  // namespace lenslet
