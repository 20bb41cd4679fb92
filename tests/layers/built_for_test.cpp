// In a build without the GPU side, layers refuse the GPU.
#include <gtest/gtest.h>

#include "framework/gpu_side.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet {
namespace {

std::string refusal_of(const Layer& layer, const std::string& backend, const Shape& input) {
  return layer.supports(backend, request_for(layer, {input}, Device::cuda(), MathMode::kFp32)).reason();
}

TEST(BuiltFor, AGpuThatIsLeftOutIsRefusedWithWhatToDo) {
#ifdef LENSLET_HAS_CUDA
  GTEST_SKIP() << "this build has its GPU side";
#endif
  const std::string expected =
      "this build has no GPU side: configure with -DLENSLET_CUDA=ON, or use device cpu";
  const Shape planes{1, 2, 4, 4}, row{1, 4};
  const auto expect_refused = [&](const Layer& layer, const std::string& backend, const Shape& input) {
    EXPECT_EQ(refusal_of(layer, backend, input),
              concat("backend ", backend, " is not in this build: ", expected));
  };
  expect_refused(ReluLayer(), "direct", planes);
  expect_refused(SoftmaxLayer(), "direct", row);
  expect_refused(MaxPool2dLayer(Pool2dWindow::square(2, 2)), "direct", planes);
  const LinearLayer linear(Tensor(Shape{3, 4}), Tensor(Shape{3}));
  for (const char* backend : {"tiled", "warp_reduce", "tensor_core", "cublas"})
    expect_refused(linear, backend, row);
}

}  // namespace
}  // namespace lenslet
