// The conclusions of `lenslet eval` from logits and labels.
#include "apps/lenslet/pictures/eval_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "apps/lenslet/session/shares.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

// Wilson's formula, computed independently.
TEST(EvalReport, GivesWilsonsInterval) {
  const Interval nine = wilson_95(9, 10);
  EXPECT_NEAR(nine.low, 0.5958500, 1e-6);
  EXPECT_NEAR(nine.high, 0.9821238, 1e-6);
  const Interval half = wilson_95(50, 100);
  EXPECT_NEAR(half.low, 0.4038315, 1e-6);
  EXPECT_NEAR(half.high, 0.5961685, 1e-6);
  const Interval all = wilson_95(10, 10), none = wilson_95(0, 10);
  EXPECT_NEAR(all.low, 0.7224672, 1e-6);
  EXPECT_NEAR(all.high, 1, 1e-12);
  EXPECT_NEAR(none.low, 0, 1e-12);
  EXPECT_NEAR(none.high, 0.2775328, 1e-6);
  EXPECT_EQ(wilson_95(0, 0).low, 0);
  EXPECT_EQ(wilson_95(0, 0).high, 1);
}

TEST(EvalReport, TheFirstOfEqualClassesIsPredictedAndNoneWhereOneIsNotANumber) {
  float logits[kLenet5Classes] = {1, 3, 3, 0, 0, 0, 0, 0, 0, 3};
  EXPECT_EQ(predicted_class(logits, kLenet5Classes), 1);
  logits[9] = 4;
  EXPECT_EQ(predicted_class(logits, kLenet5Classes), 9);
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    logits[9] = odd;
    EXPECT_EQ(predicted_class(logits, kLenet5Classes), -1) << odd;
  }
}

// 1,300 images, so that the last task has fewer images: label i % 10, with logit 2 for the predicted class and 0 for
// the rest.
TEST(EvalReport, CountsEveryImageOnce) {
  constexpr int64_t kCount = 1300;
  ImageDataset data;
  data.count = kCount;
  std::vector<float> logits(kCount * kLenet5Classes, 0.0f);
  for (int64_t i = 0; i < kCount; ++i) {
    data.labels.push_back(static_cast<uint8_t>(i % 10));
    const int64_t read_as = i % 100 == 99 ? 3 : i % 10;  // 13 nines are read as threes
    logits[static_cast<size_t>(i * kLenet5Classes + read_as)] = 2;
  }
  logits[kLenet5Classes * 1299 + 5] = NAN;  // one of these
  const Evaluation found = evaluate(logits, data, kCount);
  EXPECT_EQ(found.count, kCount);
  EXPECT_EQ(found.correct, kCount - 13);
  EXPECT_EQ(found.not_numbers, 1);
  EXPECT_DOUBLE_EQ(found.accuracy(), static_cast<double>(kCount - 13) / kCount);
  EXPECT_EQ(found.confusion[4][4], 130);
  EXPECT_EQ(found.confusion[9][3], 12);
  EXPECT_EQ(found.confusion[3][9], 0);
  EXPECT_EQ(found.confusion[9][9], 117);
  // -log p: log(1 + 9 exp(-2)) for the correct images, 2 more for the wrong ones.
  const double right = std::log(1 + 9 * std::exp(-2.0));
  EXPECT_NEAR(found.loss, right + 2.0 * 12 / 1299, 1e-9);
  ASSERT_EQ(found.misses.size(), 13u);
  EXPECT_EQ(found.misses[0].index, 99);
  EXPECT_EQ(found.misses[0].label, 9);
  EXPECT_EQ(found.misses[0].predicted, 3);
  EXPECT_NEAR(found.misses[0].probability, std::exp(-right), 1e-9);
  EXPECT_EQ(found.misses[0].margin, 2);
  EXPECT_EQ(found.misses[12].index, 1299);
  EXPECT_EQ(found.misses[12].predicted, -1);
  const std::string csv = misses_csv(found);
  EXPECT_EQ(csv.substr(0, 56), "index,label,predicted,probability,margin\n99,9,3,0.450853");
  EXPECT_NE(csv.find(",2\n199,9,3,"), std::string::npos) << csv;
  EXPECT_NE(misses_csv(found).find("1299,9,,,\n"), std::string::npos);
}

std::string warnings_of(const std::vector<DeviceShare>& shares) {
  testing::internal::CaptureStderr();
  report_faults(shares);
  return testing::internal::GetCapturedStderr();
}

TEST(Shares, AFaultIsReportedAndWhoTookTheImages) {
  const Device first = Device::cuda(0), second = Device::cuda(1);
  EXPECT_EQ(warnings_of({}), "");
  EXPECT_EQ(warnings_of({{first, 10, ""}, {second, 20, ""}}), "");
  EXPECT_EQ(warnings_of({{first, 10, ""}, {second, 20, "hot"}}),
            "lenslet: warning: cuda:1 failed, and the other devices computed its images: hot\n");
  EXPECT_EQ(warnings_of({{first, 10, "hot"}, {second, 20, "cold"}}),
            "lenslet: warning: cuda:0 failed: hot\nlenslet: warning: cuda:1 failed: cold\n");
}

TEST(Shares, AreListed) {
  EXPECT_EQ(describe_shares({{Device::cuda(0), 30, ""}, {Device::cuda(1), 10, "hot"}}),
            "cuda:0 75.0 %, cuda:1 25.0 %, failed");
  EXPECT_EQ(describe_shares({{Device::cuda(0), 0, "hot"}, {Device::cuda(1), 0, "cold"}}),
            "cuda:0 0.0 %, failed, cuda:1 0.0 %, failed");
}

}  // namespace
}  // namespace lenslet
