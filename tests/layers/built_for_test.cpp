// What layers say of a GPU in a build without that side.
#include <gtest/gtest.h>

#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet {
namespace {

std::string refusal_of(const Layer& layer, const std::string& backend, const Shape& input) {
  OperatorRequest request;
  request.device = Device::cuda();
  request.inputs = {input};
  request.output = layer.infer_shape(request.inputs);
  return layer.supports(backend, request).reason();
}

TEST(BuiltFor, AGpuThatIsLeftOutIsRefusedWithWhatToDo) {
#ifdef LENSLET_HAS_CUDA
  GTEST_SKIP() << "this build has its GPU side";
#endif
  const std::string expected =
      "this build has no GPU side: configure with -DLENSLET_CUDA=ON, or use --device cpu";
  const Shape planes{1, 2, 4, 4}, row{1, 4};
  EXPECT_EQ(refusal_of(ReluLayer(), "direct", planes), expected);
  EXPECT_EQ(refusal_of(SoftmaxLayer(), "direct", row), expected);
  EXPECT_EQ(refusal_of(MaxPool2dLayer(Pool2dWindow::square(2, 2)), "direct", planes), expected);
  const LinearLayer linear(Tensor(Shape{3, 4}), Tensor(Shape{3}));
  for (const char* backend : {"tiled", "warp_reduce", "cublas"}) {
    EXPECT_EQ(refusal_of(linear, backend, row), expected) << backend;
  }
}

}  // namespace
}  // namespace lenslet
