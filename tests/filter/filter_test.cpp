// Filters and their files, pictures as tensors, and the judge of filtered pictures.
#include "apps/convbench/filter/filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "apps/convbench/filter/filter_bench.h"
#include "apps/convbench/filter/filter_task.h"
#include "apps/convbench/filter/rgb_values.h"
#include "framework/base/error.h"
#include "framework/measuring/row_status.h"
#include "layers/reference/conv_judge.h"
#include "layers/reference/reference.h"
#include "tests/support/expect_error.h"
#include "tests/support/wrapped_backend.h"

namespace lenslet {
namespace {

void expect_refused(const std::string& text, const std::string& fragment) {
  expect_error<DataError>([&] { parse_filter(text, "some.txt"); }, fragment);
}

TEST(FilterFile, IsReadStrictly) {
  const Filter filter =
      parse_filter("# a comment\n\n 1 2 1\r\n+2\t4 2 # and one here\n1 2 1\nscale 1/16\n", "some.txt");
  EXPECT_EQ(filter.r, 3);
  EXPECT_EQ(filter.s, 3);
  EXPECT_EQ(filter.taps, (std::vector<float>{1, 2, 1, 2, 4, 2, 1, 2, 1}));
  EXPECT_EQ(filter.scale, 1.0 / 16);
  EXPECT_EQ(parse_filter("-0.5", "some.txt").taps, std::vector<float>{-0.5f});
  EXPECT_EQ(parse_filter("1 0 -1", "some.txt").r, 1);  // a single row without a newline at the end
  std::string largest;
  for (int r = 0; r < 31; ++r) {
    for (int s = 0; s < 31; ++s) largest += "1 ";
    largest += "\n";
  }
  EXPECT_EQ(parse_filter(largest, "some.txt").taps.size(), 961u);
  expect_refused(largest + largest.substr(0, 62), "expected at most 31 rows, found more");
}

TEST(FilterFile, ReportsLineAndMistake) {
  expect_refused("", "found 0");
  expect_refused("# nothing but a comment", "found 0");
  expect_refused("1 2\n3 4\n", "line 1: expected 1, 3, 5");
  expect_refused("1 2 3\n4 5 6\n", "rows of numbers, found 2");
  expect_refused("1 2 3\n4 5\n", "line 2: expected 1, 3, 5");
  expect_refused("1 2 3\n4 5 6 7 8\n", "line 2: expected 3 numbers, as in the first row, found 5");
  for (const char* word :
       {"x", "1e3", "0x10", "1.2.3", "--1", "1-", "+", "-", ".", "inf", "nan", "1,", "\x01"}) {
    expect_refused(std::string(word) + "\n", "line 1: expected a decimal number");
  }
  expect_refused("edges, please\n", "line 1: expected a decimal number such as -1 or 0.25, found 'edges,'");
  expect_refused("1000001", "expected a number from");
  expect_refused("99999999999999999999999999999999999999999999999999", "expected a number from");
  expect_refused("1\nscale\n", "line 2: expected one number after 'scale'");
  expect_refused("1\nscale 1 2\n", "line 2: expected one number after 'scale'");
  expect_refused("scale 1/0\n1", "divides by zero");
  expect_refused("scale 1000000/0." + std::string(305, '0') + "1\n1", "is too large");
  expect_refused("scale 1/2/3\n1", "expected a decimal number");
  expect_refused("scale 1\nscale 1\n1", "line 2: found a second 'scale'");
}

TEST(FilterByName, FindsThree) {
  EXPECT_EQ(find_filter("edge").taps[4], 8);
  EXPECT_EQ(find_filter("blur").scale, 1.0 / 16);
  EXPECT_EQ(find_filter("sharpen").taps[4], 5);
  for (const char* name : {"edge", "blur", "sharpen"})
    EXPECT_TRUE(find_filter(name).exact_on_bytes()) << name;
  EXPECT_FALSE(parse_filter("0.5", "some.txt").exact_on_bytes());
  EXPECT_FALSE(parse_filter("100000", "some.txt").exact_on_bytes());
  expect_error<DataError>([] { find_filter("emboss"); }, "edge, blur, sharpen or a file");
}

TEST(FilterBank, KeepsColoursApart) {
  const std::vector<float> bank = parse_filter("1 2 3", "some.txt").bank();
  ASSERT_EQ(bank.size(), 27u);
  for (size_t i = 0; i < bank.size(); ++i) {
    const bool own = i / 9 == i / 3 % 3;
    EXPECT_EQ(bank[i], own ? static_cast<float>(i % 3 + 1) : 0) << i;
  }
}

TEST(Pictures, GreyBecomesThreeColoursAndAlphaLiesOverWhite) {
  EXPECT_EQ(rgb_values_of({1, 1, 1, {7}, ""}).values, (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(rgb_values_of({1, 1, 2, {0, 0}, ""}).values, (std::vector<float>{255, 255, 255}));
  EXPECT_EQ(rgb_values_of({1, 1, 3, {1, 2, 3}, ""}).values, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(rgb_values_of({1, 1, 4, {0, 100, 255, 128}, ""}).values, (std::vector<float>{127, 177, 255}));
  EXPECT_EQ(rgb_values_of({1, 1, 4, {9, 8, 7, 255}, ""}).values, (std::vector<float>{9, 8, 7}));
}

TEST(Pictures, RoundsDiffer) {
  const RgbValues picture{2, 1, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(values_of_round(picture, 0).values, picture.values);
  EXPECT_EQ(values_of_round(picture, 1).values, (std::vector<float>{254, 253, 252, 251, 250, 249}));
  EXPECT_EQ(values_of_round(picture, 2).values, (std::vector<float>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(noise_values(5, 4, 1).values, noise_values(5, 4, 1).values);
  EXPECT_NE(noise_values(5, 4, 1).values, noise_values(5, 4, 2).values);
}

class FilterTasks : public testing::TestWithParam<TensorLayout> {
 protected:
  // The fp64 reference's output for input `round`, in the parameter's layout.
  std::vector<float> right_output(const FilterTask& task, int round) const {
    const Conv2dProblem problem = task.problem(TensorLayout::kNchw);
    const reference::Result result = reference::conv2d(problem, task.input(round, TensorLayout::kNchw).data(),
                                                       task.weights().data(), nullptr, false);
    const std::vector<float> y(result.values.begin(), result.values.end());
    return GetParam() == TensorLayout::kNhwc ? nchw_to_nhwc(y, problem.output_shape()) : y;
  }
  ConvAccuracy accuracy_;
};

TEST_P(FilterTasks, AcceptWhatIsRightAndNothingElse) {
  for (const int stride : {1, 2, 3, 50}) {
    FilterTask task(noise_values(13, 9, 3), find_filter("blur"), stride);
    for (const int round : {0, 1, 2}) {
      std::vector<float> y = right_output(task, round);
      ASSERT_EQ(y.size(), static_cast<size_t>(task.problem(GetParam()).output_shape().num_elements()));
      EXPECT_TRUE(task.judge(round, GetParam(), y, accuracy_).passed);
      EXPECT_FALSE(task.judge((round + 1) % 3, GetParam(), y, accuracy_).passed) << "another input's output";
      y.back() += 1;
      const Verdict off_by_one = task.judge(round, GetParam(), y, accuracy_);
      EXPECT_FALSE(off_by_one.passed);
      EXPECT_EQ(off_by_one.error.max_abs, 1);
      y.back() = NAN;
      EXPECT_FALSE(task.judge(round, GetParam(), y, accuracy_).passed);
    }
  }
}

// Edges, and places that a judge which steps through the rows would miss.
TEST_P(FilterTasks, LargeOnesAreJudgedAnywhere) {
  FilterTask task(noise_values(810, 800, 3), find_filter("edge"), 1);
  const Conv2dProblem problem = task.problem(GetParam());
  const int64_t pixels = int64_t{problem.p()} * problem.q(), outputs = 3 * pixels;
  const std::vector<float> y = right_output(task, 1);
  const Verdict right = task.judge(1, GetParam(), y, accuracy_);
  EXPECT_TRUE(right.passed) << right.reason;
  EXPECT_GT(right.error.checked, outputs / 4);
  EXPECT_LT(right.error.checked, outputs * 3 / 4);
  const auto expect_seen = [&](const char* what,
                               const std::function<bool(int64_t p, int64_t q, int64_t colour)>& wrong) {
    std::vector<float> spoilt = y;
    for (int64_t i = 0; i < outputs; ++i) {
      const bool nhwc = GetParam() == TensorLayout::kNhwc;
      const int64_t colour = nhwc ? i % 3 : i / pixels, pixel = nhwc ? i / 3 : i % pixels;
      if (wrong(pixel / problem.q(), pixel % problem.q(), colour)) spoilt[static_cast<size_t>(i)] += 2;
    }
    EXPECT_FALSE(task.judge(1, GetParam(), spoilt, accuracy_).passed) << what;
  };
  expect_seen("odd rows", [](int64_t p, int64_t, int64_t) { return p % 2 == 1; });
  expect_seen("even rows", [](int64_t p, int64_t, int64_t) { return p % 2 == 0; });
  expect_seen("odd columns of one colour",
              [](int64_t, int64_t q, int64_t colour) { return q % 2 == 1 && colour == 1; });
  expect_seen("the last row of blue but its end", [&](int64_t p, int64_t q, int64_t colour) {
    return p == problem.p() - 1 && q < problem.q() - 1 && colour == 2;
  });
  expect_seen("the first column of green",
              [](int64_t, int64_t q, int64_t colour) { return q == 0 && colour == 1; });
}

// An algorithm with rounding errors still gives the same bytes, also if a sum is half way between two.
TEST_P(FilterTasks, WholeNumbersGiveTheSameBytesInSpiteOfRounding) {
  FilterTask task(noise_values(40, 30, 5), find_filter("blur"), 1);
  const std::vector<float> y = right_output(task, 0);
  std::vector<float> below = y, above = y;
  for (float& value : below) value -= 0.01f;
  for (float& value : above) value += 0.01f;
  const Picture picture = task.picture_of(GetParam(), y);
  EXPECT_EQ(difference_of(picture, task.picture_of(GetParam(), below)).count, 0);
  EXPECT_EQ(difference_of(picture, task.picture_of(GetParam(), above)).count, 0);
}

TEST_P(FilterTasks, RoundHalfUpAndHoldWithinAByte) {
  FilterTask half(RgbValues{3, 1, {0, 1, 2, 3, 4, 5, 6, 7, 255}}, parse_filter("1\nscale 1/2", "some.txt"),
                  1);
  EXPECT_EQ(half.picture_of(GetParam(), right_output(half, 0)).pixels,
            (std::vector<uint8_t>{0, 1, 1, 2, 2, 3, 3, 4, 128}));
  FilterTask negative(RgbValues{1, 1, {9, 9, 9}}, parse_filter("-1", "some.txt"), 1);
  EXPECT_EQ(negative.picture_of(GetParam(), right_output(negative, 0)).pixels,
            (std::vector<uint8_t>{0, 0, 0}));
  FilterTask large(RgbValues{1, 1, {200, 100, 127}}, parse_filter("2", "some.txt"), 1);
  EXPECT_EQ(large.picture_of(GetParam(), right_output(large, 0)).pixels,
            (std::vector<uint8_t>{255, 200, 254}));
}

INSTANTIATE_TEST_SUITE_P(Layouts, FilterTasks, testing::Values(TensorLayout::kNchw, TensorLayout::kNhwc),
                         [](const auto& param) { return to_string(param.param); });

/// A backend on the CPU whose picture of noise is compared as that of the first that passed.
class ComparedPicture {
 public:
  explicit ComparedPicture(const ConvBackend& backend)
      : candidate_("tried", backend, MathMode::kFp32, *arena_, SIZE_MAX, stream_) {
    arena_->allocate(Device::cpu(), candidate_.max_workspace_bytes(), false);
  }
  /// The status of its row afterwards, and the reason.
  std::string compare() {
    Measurement measured;
    measured.status = row_status::kPassed;
    request_.together({{candidate_, measured}}, stream_);
    return measured.status + ", " + measured.reason;
  }
  bool kept() const { return picture_.has_value(); }

 private:
  FilterTask task_{noise_values(16, 16, 1), find_filter("edge"), 1};
  std::optional<Picture> picture_;
  ConvBenchRequest request_ = filter_request(task_, picture_);
  Stream stream_{Device::cpu()};
  std::unique_ptr<ConvArena> arena_ = request_.arena(TensorLayout::kNhwc);
  ConvCandidate candidate_;
};

TEST(FilterRequest, ComparesNoPictureAfterAnInterruption) {
  ComparedPicture picture(find_conv_backend(DeviceKind::kCpu, "direct").open());
  stop_after(0);
  EXPECT_EQ(picture.compare(), concat("SKIPPED, ", why_unmeasured()));
  EXPECT_FALSE(picture.kept());
  stop_after(1e6);
  EXPECT_EQ(picture.compare(), "PASSED, ");
  EXPECT_TRUE(picture.kept());
}

/// direct on the CPU, which leaves the last output unwritten.
class ForgetfulKernel : public WrappedKernel {
 public:
  using WrappedKernel::WrappedKernel;
  void convolve(const ConvArgs& args, RunContext& context) override {
    const float before = args.y[16 * 16 * 3 - 1];
    WrappedKernel::convolve(args, context);
    args.y[16 * 16 * 3 - 1] = before;
  }
};

class ForgetfulBackend : public WrappedBackend {
 public:
  ForgetfulBackend() : WrappedBackend(find_conv_backend(DeviceKind::kCpu, "direct").open()) {}

 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<ForgetfulKernel>(WrappedBackend::make_kernel(request));
  }
};

// As a byte, a NaN would be a black pixel, which an edge filter often has.
TEST(FilterRequest, FailsAnOutputThatIsNoNumber) {
  const ForgetfulBackend backend;
  ComparedPicture picture(backend);
  EXPECT_EQ(picture.compare(), "FAILED, output 767 of 768 is not a finite number");
  EXPECT_FALSE(picture.kept());
}

TEST(ByteDifferences, StateHowManyAndWhere) {
  const Picture a{2, 2, 3, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, ""};
  Picture b = a;
  EXPECT_EQ(difference_of(a, b).count, 0);
  b.pixels[7] = 9;
  b.pixels[11] = 0;
  const ByteDifference difference = difference_of(a, b);
  EXPECT_EQ(difference.count, 2);
  EXPECT_EQ(difference.largest, 11);
  EXPECT_EQ(difference.first, "at row 1, column 0, green: 7 and 9");
}

}  // namespace
}  // namespace lenslet
