// The judge of a depthwise-separable block: it accepts the result of two correct convolutions and nothing else.
#include "apps/convbench/separable/block.h"

#include <gtest/gtest.h>

#include <cmath>

#include "framework/tensor/tensor.h"
#include "layers/conv/conv_registry.h"
#include "tests/support/wrapped_backend.h"

namespace lenslet {
namespace {

/// A backend whose outputs are all slightly too large.
class Spoilt : public WrappedBackend {
 public:
  Spoilt(const ConvBackend& right, float factor) : WrappedBackend(right), factor_(factor) {}

 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    struct Kernel : WrappedKernel {
      using WrappedKernel::WrappedKernel;
      float factor = 1;
      int64_t count = 0;
      void convolve(const ConvArgs& args, RunContext& context) override {
        WrappedKernel::convolve(args, context);
        for (int64_t i = 0; i < count; ++i) args.y[i] *= factor;
      }
    };
    auto kernel = std::make_unique<Kernel>(WrappedBackend::make_kernel(request));
    kernel->factor = factor_;
    kernel->count = request.problem.output_shape().num_elements();
    return kernel;
  }

  float factor_;
};

class SeparableBlocks : public testing::TestWithParam<TensorLayout> {
 protected:
  Verdict judged(const ConvBackend& depthwise, const ConvBackend& pointwise, reference::Fill fill) {
    BenchOptions options;
    options.fill = fill;
    SeparableBlock block({2, 5, 7}, GetParam(), depthwise, pointwise, options, stream_);
    block.load(1, stream_);
    block.run(stream_);
    return block.judge(1, {block.output(), block.output() + block.output_count()}, stream_);
  }

  Stream stream_{Device::cpu()};
  const ConvBackend& direct_ = find_conv_backend(DeviceKind::kCpu, "direct").open();
};

TEST_P(SeparableBlocks, AreJudgedThroughBothConvolutions) {
  for (const auto fill : {reference::Fill::kRandom, reference::Fill::kIntegers, reference::Fill::kNormal}) {
    const Verdict right = judged(direct_, direct_, fill);
    EXPECT_TRUE(right.passed) << right.reason;
    EXPECT_GT(right.error.checked, 50);
    EXPECT_LE(right.error.max_abs, right.error.bound);
    const Spoilt spoilt(direct_, 1.0001f), lost(direct_, NAN);
    EXPECT_FALSE(judged(spoilt, direct_, fill).passed);
    EXPECT_FALSE(judged(direct_, spoilt, fill).passed);
    EXPECT_FALSE(judged(direct_, lost, fill).passed);
  }
}

TEST_P(SeparableBlocks, AnotherInputGivesAnotherOutput) {
  SeparableBlock block({1, 3, 6}, GetParam(), direct_, direct_, {}, stream_);
  block.load(0, stream_);
  block.run(stream_);
  const std::vector<float> first(block.output(), block.output() + block.output_count());
  EXPECT_TRUE(block.judge(0, first, stream_).passed);
  block.load(1, stream_);
  EXPECT_FALSE(block.judge(1, first, stream_).passed);
  EXPECT_FALSE(block.judge(0, first, stream_).passed) << "input 0 is no longer there";
}

TEST(SeparableShapes, CountTheirWork) {
  const SeparableShape shape{8, 32, 56};
  EXPECT_EQ(shape.standard().to_string(), "mb8ic32ih56oc32oh56kh3ph1");
  EXPECT_EQ(shape.depthwise().to_string(), "g32mb8ic32ih56oc32oh56kh3ph1");
  EXPECT_EQ(shape.pointwise().to_string(), "mb8ic32ih56oc32oh56kh1");
  // 9 C against 9 + C products.
  EXPECT_DOUBLE_EQ(shape.standard().flops() / (shape.depthwise().flops() + shape.pointwise().flops()),
                   9.0 * 32 / (9 + 32));
}

INSTANTIATE_TEST_SUITE_P(Layouts, SeparableBlocks, testing::Values(TensorLayout::kNchw, TensorLayout::kNhwc),
                         [](const auto& param) { return to_string(param.param); });

}  // namespace
}  // namespace lenslet
