// The time that measuring is expected to take, before it is measured.
#include "apps/measuring/expected_time.h"

#include <gtest/gtest.h>

namespace lenslet {
namespace {

TEST(ExpectedTime, GrowsWithCandidatesWorkAndOptions) {
  Ceilings ceilings;
  ceilings.copy_bytes_per_s = 10e9;
  ceilings.peaks = {{MathMode::kFp32, "FMA", 100e9}};
  MeasureOptions options;
  options.warmup_ms = 0;
  options.min_time_ms = 100;
  const auto seconds = [&](const std::vector<Work>& runs) {
    return expected_seconds({runs, 0}, MathMode::kFp32, options, ceilings, 1e9);
  };
  EXPECT_EQ(seconds({}), 0);
  const double light = seconds({{1e3, 1e3}}), heavy = seconds({{100e9, 1e6}});
  EXPECT_NEAR(light, 0.2, 0.1) << "two cache states of 100 ms";
  EXPECT_GT(heavy, 8) << "each run takes a second at best, and each candidate several";
  EXPECT_NEAR(seconds({{1e3, 1e3}, {1e3, 1e3}, {1e3, 1e3}}), 3 * light, 1e-9);
  options.min_time_ms = 10;
  EXPECT_NEAR(seconds({{4.5e9 * 0.5, 1e3}}), 50e-3 * 8 + 60e-3 + 2 * 100e-3, 0.02)
      << "runs of 50 ms: checks, and per cache state one turn with two runs";
  options.min_time_ms = 100;
  options.cold = false;
  EXPECT_LT(seconds({{1e3, 1e3}}), light);
  EXPECT_NEAR(expected_seconds({{{1e3, 1e3}}, 0}, MathMode::kFp32, options, {}, 1e9), 0.1, 0.1)
      << "without ceilings";
}

// The fp64 reference is most of the time of a deep convolution, of which measuring takes a second.
TEST(ExpectedTime, CountsTheReferenceOfEachInput) {
  MeasureOptions options;
  const auto seconds = [&](double products) {
    return expected_seconds({{}, products}, MathMode::kFp32, options, {}, 2e8);
  };
  options.verify = Verify::kBoth;
  EXPECT_NEAR(seconds(7e8), 3 * 3.5, 1e-9) << "checks before and after, and the timed runs";
  options.verify = Verify::kOff;
  EXPECT_NEAR(seconds(7e8), 2 * 3.5, 1e-9);
}

}  // namespace
}  // namespace lenslet
