// Sizes beyond 2^31 elements, where an index or an offset of 32 bits would wrap: filled on the GPU, judged at samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/tensor/poison.h"
#include "framework/tensor/roundoff.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_layer.h"
#include "tests/layers/layer_problems.h"
#include "tests/support/gpu.h"
#include "tests/support/host_values.h"

namespace lenslet {
namespace {

constexpr int64_t k2To31 = int64_t{1} << 31;
constexpr int64_t kPeriod = 1000003;  // prime: neighbouring rows of any length differ
constexpr double kUnit = 1.01 * kUnitFp32;

class Large : public testing::Test {
 protected:
  void SetUp() override {
    LENSLET_SKIP_WITHOUT_GPU();
    const size_t needed = size_t{20} << 30, found = free_memory_bytes(Device::cuda());
    if (found < needed)
      GTEST_SKIP() << "needs " << needed << " bytes of the GPU's memory, " << found << " are free";
    stream_ = std::make_unique<Stream>(Device::cuda());
    pattern_ = reference::uniform_values(kPeriod, 5);
  }

  /// Value i of repeated().
  float at(int64_t i) const { return pattern_[static_cast<size_t>(i % kPeriod)]; }
  Buffer repeated(int64_t count) {
    Buffer buffer(Device::cuda(), static_cast<size_t>(count) * sizeof(float));
    copy_bytes(buffer.data(), Device::cuda(), pattern_.data(), Device::cpu(), kPeriod * sizeof(float),
               *stream_);
    for (int64_t filled = kPeriod; filled < count; filled *= 2) {
      const int64_t more = std::min(filled, count - filled);
      copy_bytes(buffer.as<float>() + filled, Device::cuda(), buffer.data(), Device::cuda(),
                 static_cast<size_t>(more) * sizeof(float), *stream_);
    }
    return buffer;
  }

  Buffer run(const Layer& layer, const std::string& backend, const Shape& input, const Buffer& x,
             MathMode math = MathMode::kFp32) {
    const OperatorRequest request = request_for(layer, {input}, Device::cuda(), math);
    const std::unique_ptr<Operator> op = layer.prepare(backend, request, *stream_);
    Buffer y(Device::cuda(), request.output.bytes());
    const Buffer workspace(Device::cuda(), op->workspace_bytes());
    fill_bytes(y.data(), Device::cuda(), kNanByte, y.bytes(), *stream_);
    RunContext context{*stream_, workspace.data(), nullptr};
    op->run({{x.as<float>(), input, Device::cuda()}}, {y.as<float>(), request.output, Device::cuda()},
            context);
    stream_->synchronise();
    return y;
  }

  struct Value {
    double value, bound;
  };
  /// Runs of outputs at both ends, around powers of two, around `special` indices and at random places.
  template <typename Expected>
  void expect_samples(const Buffer& y, const std::vector<int64_t>& special, const std::string& what,
                      Expected&& expected) {
    constexpr int64_t kRun = 48;
    const auto count = static_cast<int64_t>(y.bytes() / sizeof(float));
    std::vector<int64_t> centres = special;
    for (int power = 28; power < 34; ++power) centres.push_back(int64_t{1} << power);
    centres.push_back(0);
    centres.push_back(count);
    reference::Random random(7);
    for (int i = 0; i < 200; ++i)
      centres.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(count))));
    reference::Comparison comparison;
    std::vector<float> found(kRun);
    for (const int64_t centre : centres) {
      const int64_t first = std::min(std::max<int64_t>(centre - kRun / 2, 0), count - kRun);
      copy_bytes(found.data(), Device::cpu(), y.as<float>() + first, Device::cuda(), kRun * sizeof(float),
                 *stream_);
      stream_->synchronise();
      for (int64_t i = 0; i < kRun; ++i) {
        const Value right = expected(first + i);
        comparison.add(first + i, found[static_cast<size_t>(i)], right.value, right.bound);
      }
    }
    EXPECT_TRUE(comparison.passed()) << what << ": " << comparison.reason();
  }

  void check_pool(const Shape& input, const Buffer& x, const Pool2dWindow& v, bool maximum, bool padding) {
    const MaxPool2dLayer max_layer(v);
    const AvgPool2dLayer mean_layer(v, padding);
    const Layer& layer = maximum ? static_cast<const Layer&>(max_layer) : mean_layer;
    const Shape output = layer.infer_shape({input});
    const int64_t h = input[2], w = input[3], p_count = output[2], q_count = output[3];
    const Buffer y = run(layer, "direct", input, x);
    const int64_t of_2_to_31 = k2To31 / (h * w) * p_count * q_count;  // the output that reads there
    expect_samples(y, {of_2_to_31}, layer.describe(), [&](int64_t i) {
      const int64_t plane = i / (p_count * q_count), p = i / q_count % p_count, q = i % q_count;
      double sum = 0, max_cell = -INFINITY, magnitude = 0, inside = 0;
      for (int r = 0; r < v.r; ++r) {
        for (int s = 0; s < v.s; ++s) {
          const int64_t row = p * v.stride_h - v.pad_h + r, column = q * v.stride_w - v.pad_w + s;
          if (row < 0 || row >= h || column < 0 || column >= w) continue;
          const double cell = at((plane * h + row) * w + column);
          sum += cell;
          magnitude += std::fabs(cell);
          max_cell = std::max(max_cell, cell);
          ++inside;
        }
      }
      if (maximum) return Value{max_cell, 0};
      const double cells = padding ? double{1} * v.r * v.s : inside;
      return Value{sum / cells, kUnit * (cells + 1) * magnitude / cells};
    });
  }

  void check_linear(const std::string& backend, int64_t batch, int64_t inputs, int64_t outputs,
                    const Buffer& x) {
    const auto w = reference::uniform_values(static_cast<size_t>(outputs * inputs), 8);
    const auto b = reference::uniform_values(static_cast<size_t>(outputs), 9);
    const LinearLayer layer(Tensor({outputs, inputs}, w), Tensor({outputs}, b));
    const MathMode math = backend == "tensor_core" ? MathMode::kTf32 : MathMode::kFp32;
    const Buffer y = run(layer, backend, {batch, inputs}, x, math);
    const double factor = math == MathMode::kFp32 ? kUnit * static_cast<double>(inputs + 1)
                                                  : reference::sum_factor(inputs, math);
    expect_samples(y, {k2To31 / inputs * outputs}, backend, [&](int64_t i) {
      const int64_t sample = i / outputs, output = i % outputs;
      double sum = b[static_cast<size_t>(output)], magnitude = std::fabs(sum);
      for (int64_t j = 0; j < inputs; ++j) {
        const double product =
            double{at(sample * inputs + j)} * double{w[static_cast<size_t>(output * inputs + j)]};
        sum += product;
        magnitude += std::fabs(product);
      }
      return Value{sum, factor * magnitude};
    });
  }

  std::unique_ptr<Stream> stream_;
  std::vector<float> pattern_;
};

TEST_F(Large, ReluPasses2To31Values) {
  const int64_t count = k2To31 + 3;
  const Buffer x = repeated(count);
  expect_samples(run(ReluLayer(), "direct", {count}, x), {}, "relu", [&](int64_t i) {
    return Value{std::max(double{at(i)}, 0.0), 0};
  });
}

TEST_F(Large, PoolingPasses2To31Values) {
  const Shape& input = kPoolInputPast2To31;
  ASSERT_GT(input.num_elements(), k2To31);
  const Buffer x = repeated(input.num_elements());
  for (const auto& [kind, window] : pools_past_2_to_31())
    check_pool(input, x, window, kind == reference::Pooling::kMax, kind == reference::Pooling::kAverage);
}

TEST_F(Large, SoftmaxPasses2To31Values) {
  for (const Shape& shape : {Shape{2200001, 1000}, Shape{1100009, 2003}}) {
    ASSERT_GT(shape.num_elements(), k2To31);
    const Buffer x = repeated(shape.num_elements());
    const int64_t classes = shape[1];
    // As in softmax_test.cpp, for differences of up to 2.
    const double relative = kUnitFp32 * (2 * (4 + 2) + static_cast<double>(classes) + 1);
    int64_t summed = -1;
    double sum = 0;
    expect_samples(run(SoftmaxLayer(), "direct", shape, x), {}, shape.to_string(), [&](int64_t i) {
      if (i / classes != summed) {
        summed = i / classes;
        sum = 0;
        for (int64_t k = 0; k < classes; ++k) sum += std::exp(double{at(summed * classes + k)});
      }
      const double value = std::exp(double{at(i)}) / sum;
      return Value{value, relative * value};
    });
  }
}

// tensor_core needs compute capability 8.0, as have all GPUs with the memory of these tests.
constexpr const char* kLinearBackends[] = {"tiled", "warp_reduce", "tensor_core", "cublas"};

TEST_F(Large, LinearReads2To31Values) {
  constexpr int64_t kBatch = 8500013, kInputs = 256;
  static_assert(kBatch * kInputs > k2To31);
  const Buffer x = repeated(kBatch * kInputs);
  for (const char* backend : kLinearBackends) check_linear(backend, kBatch, kInputs, 37, x);
}

TEST_F(Large, LinearWrites2To31Values) {
  for (const auto& [batch, inputs, outputs] : kLinearPast2To31) {
    ASSERT_GT(batch * outputs, k2To31);
    const Buffer x = repeated(batch * inputs);
    for (const char* backend : kLinearBackends) check_linear(backend, batch, inputs, outputs, x);
  }
}

}  // namespace
}  // namespace lenslet
