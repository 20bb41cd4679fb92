// The comparison of answers with the fp64 reference, and the bounds of layered plans and of their layers.
#include "apps/lenslet/candidates/logits_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "apps/lenslet/candidates/layer_bound.h"
#include "framework/execution/executable.h"
#include "layers/conv/conv_layer.h"
#include "layers/reference/fill.h"
#include "layers/reference/layer_subject.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_error.h"
#include "models/lenet5.h"
#include "models/prediction.h"
#include "tests/lenet/fused_reference.h"
#include "tests/support/planted_faults.h"

namespace lenslet {
namespace {

constexpr double kBound = 0.02;  // of a logit

/// With zero weights in fc3 the logits of every picture are its biases: class 4 leads, class 1 is close, class 7 is
/// closer.
Graph leading_by(double to_class_1, double to_class_7) {
  Safetensors parameters = random_lenet5_parameters();
  Tensor &weights = parameters.tensors.at("fc3.weight"), &bias = parameters.tensors.at("fc3.bias");
  std::fill(weights.data(), weights.data() + weights.shape().num_elements(), 0.0f);
  std::fill(bias.data(), bias.data() + 10, 0.0f);
  bias.data()[4] = 3;
  bias.data()[1] = static_cast<float>(3 - to_class_1);
  bias.data()[7] = static_cast<float>(3 - to_class_7);
  return make_lenet5(parameters, "biases alone");
}

class Predictions : public testing::Test {
 protected:
  Predictions()
      : graph_(leading_by(0.05, 0.03)), reference_(graph_, std::vector<uint8_t>(28 * 28, 128).data(), 1) {
    double sum = 7 * std::exp(-3.0) + 1;
    for (const double gap : {0.05, 0.03}) sum += std::exp(-gap);
    first_ = 1 / sum;
  }
  bool accepts(int32_t label, double probability, double bound = kBound) const {
    const Prediction answer{label, static_cast<float>(probability)};
    ResultError error;
    return reference_.compare(kPrediction, &answer, {0}, bound, error).empty();
  }

  Graph graph_;
  ReferenceLogits reference_;
  double first_;  // the probability of class 4
};

// A logit up by the bound, and all others down by it.
TEST_F(Predictions, HaveAProbabilityOfLogitsWithinTheBound) {
  for (const double bound : {1e-3, kBound, 1.0, 1000.0}) {
    const double up = std::exp(2 * bound),
                 max = std::isfinite(up) ? first_ * up / (first_ * up + 1 - first_) : 1;
    const double min = first_ / (first_ + (1 - first_) * up);
    EXPECT_TRUE(accepts(4, first_, bound));
    EXPECT_TRUE(accepts(4, max, bound));
    EXPECT_TRUE(accepts(4, min, bound));
    EXPECT_FALSE(accepts(4, max + 3 * kSoftmaxError, bound));
    EXPECT_FALSE(accepts(4, min - 3 * kSoftmaxError, bound));
    EXPECT_FALSE(accepts(4, NAN, bound));
  }
}

TEST_F(Predictions, HaveTheReferencesLabelUnlessItIsATie) {
  EXPECT_TRUE(accepts(7, first_ * std::exp(-0.03)));
  EXPECT_FALSE(accepts(1, first_ * std::exp(-0.05))) << "0.05 is beyond two bounds";
  EXPECT_FALSE(accepts(7, first_ * std::exp(-0.03), 0.01)) << "0.03 is beyond two bounds";
  EXPECT_FALSE(accepts(0, first_ * std::exp(-3.0)));
  EXPECT_FALSE(accepts(-1, first_));
  EXPECT_FALSE(accepts(10, first_));
}

// A convolution whose operator has a fault.
class FaultyConv : public Conv2dLayer {
 public:
  FaultyConv(const Conv2dProblem& geometry, const std::vector<float>& weights, const std::vector<float>& bias,
             const Fault& fault)
      : Conv2dLayer(geometry, weights_of(geometry, weights), Tensor({geometry.k}, bias)),
        right_(geometry, weights_of(geometry, weights), Tensor({geometry.k}, bias)),
        fault_(fault) {}

 private:
  static Tensor weights_of(const Conv2dProblem& geometry, const std::vector<float>& weights) {
    return Tensor({geometry.k, geometry.c, geometry.r, geometry.s}, weights);
  }
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override {
    return with_fault(right_.prepare(backend, request, stream), [this](const FaultyRun& run) {
      run.run_correctly();
      if (fault_) fault_(run);
    });
  }

  Conv2dLayer right_;
  const Fault& fault_;
};

constexpr int kChannels = 16, kSide = 8, kClasses = 10;
constexpr int64_t kSamples = 2;

// `depth` convolutions of 3x3, each with its ReLU, and one over the whole plane.
class LayeredPlan : public testing::Test {
 protected:
  void build(int depth) {
    graph_ = std::make_unique<Graph>("stack", "x", Shape{kChannels, kSide, kSide});
    std::string last = "x", backends = "classes=direct";
    for (int i = 1; i <= depth; ++i) {
      const std::string name = "conv" + std::to_string(i);
      add(name, kChannels, 3, 1, last, i == depth ? in_winograd_ : nothing_);
      graph_->add("relu" + std::to_string(i), std::make_unique<ReluLayer>(), {name});
      last = "relu" + std::to_string(i);
      backends += "," + name + "=winograd";
    }
    add("classes", kClasses, kSide, 0, last, in_logits_);
    BuildOptions options;
    options.batch = kSamples;
    options.backends = BackendSpec::parse(backends);
    executable_ = std::make_unique<Executable>(*graph_, options);
    reference::Random random(5);
    pixels_.resize(static_cast<size_t>(kSamples * graph_->input_shape().num_elements()));
    for (uint8_t& pixel : pixels_) pixel = static_cast<uint8_t>(random.below(256));
    graph_->normalisation().apply(pixels_.data(), static_cast<int64_t>(pixels_.size()),
                                  executable_->input().data);
    expected_ = std::make_unique<ReferenceLogits>(*graph_, pixels_.data(), kSamples);
  }
  std::string faults() { return LogitsCheck(*graph_, pixels_).run(*executable_); }
  std::optional<LogitsCheck::WrongStep> wrong_step() {
    return LogitsCheck(*graph_, pixels_).first_wrong_step(*executable_);
  }
  double bound() const { return expected_->bound(*executable_); }

  Fault nothing_, in_winograd_, in_logits_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<ReferenceLogits> expected_;
  std::vector<uint8_t> pixels_;

 private:
  // Weights that keep the size of the values (He et al. 2015).
  void add(const std::string& name, int filters, int kernel, int pad, const std::string& input,
           const Fault& fault) {
    Conv2dProblem geometry;
    geometry.c = kChannels;
    geometry.k = filters;
    geometry.r = geometry.s = kernel;
    geometry.pad_h = geometry.pad_w = pad;
    const int64_t taps = int64_t{kChannels} * kernel * kernel;
    std::vector<float> weights = reference::normal_values(static_cast<size_t>(filters * taps), ++seed_);
    for (float& weight : weights) weight *= static_cast<float>(std::sqrt(2.0 / static_cast<double>(taps)));
    const std::vector<float> bias(static_cast<size_t>(filters), 0.25f);
    graph_->add(name, std::make_unique<FaultyConv>(geometry, weights, bias, fault), {input});
  }

  uint64_t seed_ = 0;
};

TEST_F(LayeredPlan, NamesALayerBeyondTheBoundOfItsBackend) {
  build(1);
  EXPECT_EQ(faults(), "");
  EXPECT_FALSE(wrong_step());
  // The bound as the judge derives it, of an output that ReLU leaves as it is.
  const Executable::Step& step = executable_->steps().at(0);
  ASSERT_EQ(step.nodes(), "conv1+relu1");
  std::vector<float> x(executable_->input().data, executable_->input().data + pixels_.size());
  const std::vector<LayerInput> inputs = {{step.inputs.at(0).shape, x.data()}};
  int64_t terms = 0;
  const reference::Result right = reference_layer(*step.layer, inputs, terms);
  const std::vector<double> bounds =
      layer_bounds(*step.layer, *step.entry, MathMode::kFp32, inputs, right, terms);
  const std::vector<double> of_sums =
      layer_bounds(*step.layer, *step.layer->find_backend("direct", DeviceKind::kCpu), MathMode::kFp32,
                   inputs, right, terms);
  const auto at =
      static_cast<size_t>(std::max_element(right.values.begin(), right.values.end()) - right.values.begin());
  EXPECT_GT(bounds[at], 10 * of_sums[at]) << "winograd's bound is that of sums";
  double share = 0.5;
  in_winograd_ = [&](const FaultyRun& run) {
    run.output.data[at] = static_cast<float>(right.values[at] + share * bounds[at]);
  };
  EXPECT_EQ(faults(), "");
  EXPECT_FALSE(wrong_step());
  share = 1.1;
  const std::optional<LogitsCheck::WrongStep> wrong = wrong_step();
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->index, 0u);
  EXPECT_NE(wrong->what.find("layer conv1+relu1 (winograd): output " + std::to_string(at)), std::string::npos)
      << wrong->what;
}

TEST_F(LayeredPlan, HasLogitsWithinItsBound) {
  build(2);
  double share = 0.5;
  in_logits_ = [&](const FaultyRun& run) { run.output.data[3] += static_cast<float>(share * bound()); };
  EXPECT_EQ(faults(), "");
  share = 1.1;
  EXPECT_NE(faults().find("logits differ from the fp64 reference's"), std::string::npos);
  share = NAN;
  EXPECT_NE(faults(), "");
}

// A bound that multiplies the sums of |weight| of all layers exceeds the logits.
TEST_F(LayeredPlan, KeepsAUsefulBoundWhenItIsDeep) {
  build(16);
  EXPECT_EQ(faults(), "");
  std::vector<float> logits(executable_->output().data, executable_->output().data + kSamples * kClasses);
  const auto [min, max] = std::minmax_element(logits.begin(), logits.begin() + kClasses);
  EXPECT_LT(bound(), 0.05 * (*max - *min));
  ResultError error;
  EXPECT_EQ(expected_->compare(ElementType::kFp32, logits.data(), {0, 1}, bound(), error), "");
  EXPECT_LT(error.max_abs, 0.5 * bound());
}

}  // namespace
}  // namespace lenslet
