// Launches that begin before the one before them ends read what that one wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "framework/device/device_memory.h"
#include "layers/pairwise/pairwise_layer.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

class EarlyLaunches : public testing::TestWithParam<Shape> {};

// Each of a row of sums adds 1: a launch that read too early would miss some. There are so
// few blocks that two launches fit the card at once.
TEST_P(EarlyLaunches, SumsReadWhatTheLaunchBeforeWrote) {
  LENSLET_SKIP_WITHOUT_GPU();
  constexpr int kLaunches = 400;
  const Shape x{64, 16, 16}, &one = GetParam();
  Stream stream(Device::cuda());
  OperatorRequest request;
  request.device = Device::cuda();
  request.inputs = {x, one};
  request.output = x;
  const PairwiseLayer layer(Pairwise::kAdd);
  const std::unique_ptr<Operator> add = layer.prepare("direct", request, stream);
  std::vector<float> values(static_cast<size_t>(x.num_elements()), 0.0f);
  Buffer from(Device::cuda(), x.bytes()), to(Device::cuda(), x.bytes()), ones(Device::cuda(), one.bytes());
  const auto fill = [&](const Buffer& buffer, float value) {
    std::fill(values.begin(), values.end(), value);
    copy_bytes(buffer.data(), Device::cuda(), values.data(), Device::cpu(), buffer.bytes(), stream);
  };
  fill(from, 0.0f);
  fill(to, 0.0f);
  fill(ones, 1.0f);
  RunContext context{stream, nullptr, nullptr};
  for (int i = 0; i < kLaunches; ++i, std::swap(from, to)) {
    add->run({{from.as<float>(), x, Device::cuda()}, {ones.as<float>(), one, Device::cuda()}},
             {to.as<float>(), x, Device::cuda()}, context);
  }
  copy_bytes(values.data(), Device::cpu(), from.data(), Device::cuda(), from.bytes(), stream);
  stream.synchronise();
  EXPECT_EQ(std::count(values.begin(), values.end(), static_cast<float>(kLaunches)), x.num_elements());
}

INSTANTIATE_TEST_SUITE_P(Kernels, EarlyLaunches, testing::Values(Shape{64, 16, 16}, Shape{64, 16, 1}),
                         [](const auto& param) { return param.param[2] == 1 ? "strided" : "same"; });

}  // namespace
}  // namespace lenslet
