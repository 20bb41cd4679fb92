// The comparison of answers with the fp64 reference: predictions have a limit that does not depend on the bound of the
// logits.
#include "apps/lenslet/candidates/logits_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/lenet5.h"
#include "models/prediction.h"
#include "tests/lenet/fused_reference.h"

namespace lenslet {
namespace {

constexpr double kWideBound = 1;  // bound of a logit, larger than those of tf32 and fp16

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
  bool accepts(int32_t label, double probability, double bound = kWideBound) const {
    const Prediction answer{label, static_cast<float>(probability)};
    ResultError error;
    return reference_.compare(kPrediction, &answer, {0}, bound, error).empty();
  }

  Graph graph_;
  ReferenceLogits reference_;
  double first_;  // the probability of class 4
};

TEST_F(Predictions, AreRightWithinAHundredth) {
  EXPECT_TRUE(accepts(4, first_));
  EXPECT_TRUE(accepts(4, first_ + 0.009));
  EXPECT_TRUE(accepts(4, first_ - 0.009));
  EXPECT_FALSE(accepts(4, first_ + 0.011));
  EXPECT_FALSE(accepts(4, first_ - 0.011));
  EXPECT_FALSE(accepts(4, NAN));
}

TEST_F(Predictions, AreHeldToANarrowerBoundWhereThereIsOne) {
  EXPECT_TRUE(accepts(4, first_ * 1.0001, 1e-3));
  EXPECT_FALSE(accepts(4, first_ * 1.01, 1e-3));
}

TEST_F(Predictions, HaveTheReferencesLabelUnlessItIsATie) {
  EXPECT_TRUE(accepts(7, first_ * std::exp(-0.03)));
  EXPECT_FALSE(accepts(1, first_ * std::exp(-0.05))) << "0.05 is no tie";
  EXPECT_FALSE(accepts(7, first_ * std::exp(-0.03), 0.01)) << "0.03 is beyond the bound";
  EXPECT_FALSE(accepts(0, first_ * std::exp(-3.0)));
  EXPECT_FALSE(accepts(-1, first_));
  EXPECT_FALSE(accepts(10, first_));
}

}  // namespace
}  // namespace lenslet
