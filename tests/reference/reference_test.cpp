// Tests of the reference: results computed by hand, and tools that must not be deceived.
#include "layers/reference/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <set>

#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/parallel.h"
#include "framework/tensor/poison.h"
#include "layers/reference/choose_outputs.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet::reference {
namespace {

TEST(Reference, ConvolvesAWorkedExample) {
  // 3x3 input 1..9, filter {1, 2; 3, -4}: cross-correlation, not convolution.
  Conv2dProblem problem;
  problem.c = problem.k = 1;
  problem.h = problem.w = 3;
  problem.r = problem.s = 2;
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[] = {1, 2, 3, -4}, bias[] = {0.5f};
  const Result plain = conv2d(problem, x, w, nullptr, false);
  EXPECT_EQ(plain.shape, (Shape{1, 1, 2, 2}));
  EXPECT_EQ(plain.values,
            (std::vector<double>{1 + 4 + 12 - 20, 2 + 6 + 15 - 24, 4 + 10 + 21 - 32, 5 + 12 + 24 - 36}));
  EXPECT_EQ(plain.magnitudes[0], 1 + 4 + 12 + 20);
  const Result with_bias = conv2d(problem, x, w, bias, true);
  EXPECT_EQ(with_bias.values, (std::vector<double>{0, 0, 3.5, 5.5}));
  EXPECT_EQ(with_bias.magnitudes[0], 37.5);
}

TEST(Reference, ConvolvesWithPaddingStrideDilationAndGroups) {
  // Two groups of one channel, filter 1x2 with dilation 2, padding 1 on the width, stride 2.
  Conv2dProblem problem;
  problem.c = problem.k = problem.groups = 2;
  problem.h = 1;
  problem.w = 4;
  problem.r = 1;
  problem.s = 2;
  problem.stride_w = 2;
  problem.pad_w = 1;
  problem.dilation_w = 2;
  const float x[] = {1, 2, 3, 4, 10, 20, 30, 40}, w[] = {1, 100, 2, 200};
  // Width 0 1 2 3 4 0: positions (0, 2) and (2, 4).
  const Result result = conv2d(problem, x, w, nullptr, false);
  EXPECT_EQ(result.shape, (Shape{1, 2, 1, 2}));
  EXPECT_EQ(result.values, (std::vector<double>{200, 2 + 400, 4000, 40 + 8000}));
}

TEST(Reference, ConvolvesManyChannels) {
  // Two groups of six channels, one filter 1x2 each: every channel has a digit of its own in the sum.
  Conv2dProblem problem;
  problem.c = 12;
  problem.k = problem.groups = 2;
  problem.h = 1;
  problem.w = 3;
  problem.r = 1;
  problem.s = 2;
  const float digits[] = {1, 10, 100, -1000, 10000, 100000};
  std::vector<float> x, w;
  for (int c = 0; c < problem.c; ++c) {
    for (const int factor : {1, 2, 3}) x.push_back(static_cast<float>(factor) * digits[c % 6]);
    w.insert(w.end(), {1, c < 6 ? 0.0f : 1.0f});
  }
  const Result result = conv2d(problem, x.data(), w.data(), nullptr, false);
  EXPECT_EQ(result.values, (std::vector<double>{109111, 218222, 327333, 545555}));
  EXPECT_EQ(result.magnitudes, (std::vector<double>{111111, 222222, 333333, 555555}));
}

TEST(Reference, PoolsWorkedExamples) {
  const float x[] = {1, -2, 3, -4, -5, -6, -7, -8, -9};
  const Shape shape{1, 1, 3, 3};
  EXPECT_EQ(max_pool2d(shape, x, {2, 2, 1, 1, 0, 0}).values, (std::vector<double>{1, 3, -4, -5}));
  EXPECT_EQ(max_pool2d(shape, x, {2, 2, 2, 2, 0, 0}).shape, (Shape{1, 1, 1, 1}));
  // Padding never wins, also not against negative values.
  EXPECT_EQ(max_pool2d(shape, x, {2, 2, 2, 2, 1, 1}).values, (std::vector<double>{1, 3, -4, -5}));
  EXPECT_EQ(avg_pool2d(shape, x, {2, 2, 2, 2, 1, 1}, true).values,
            (std::vector<double>{0.25, 0.25, (-4 - 7) / 4.0, (-5 - 6 - 8 - 9) / 4.0}));
  EXPECT_EQ(avg_pool2d(shape, x, {2, 2, 2, 2, 1, 1}, false).values,
            (std::vector<double>{1, 0.5, (-4 - 7) / 2.0, (-5 - 6 - 8 - 9) / 4.0}));
}

TEST(Reference, OtherLayersWorkedExamples) {
  const float x[] = {-1, 0, 2}, w[] = {1, 2, 3, 4, 5, 6}, bias[] = {10, 20};
  EXPECT_EQ(relu({1, 3}, x).values, (std::vector<double>{0, 0, 2}));
  const Result y = linear({1, 3}, x, 2, w, bias);
  EXPECT_EQ(y.values, (std::vector<double>{15, 28}));
  EXPECT_EQ(y.magnitudes, (std::vector<double>{17, 36}));
  const Result p = softmax({1, 3}, x);
  EXPECT_NEAR(p.values[0] + p.values[1] + p.values[2], 1, 1e-15);
  EXPECT_NEAR(p.values[2] / p.values[1], std::exp(2.0), 1e-14);
  const float large[] = {1e30f, 1e30f};
  EXPECT_EQ(softmax({1, 2}, large).values, (std::vector<double>{0.5, 0.5}));
}

// As the layers do: otherwise the judge would expect a number where a layer rightly returns NaN.
TEST(Reference, KeepsNan) {
  const float x[] = {NAN, -1, 2, NAN};
  const auto nans = [](const Result& result) {
    std::string text;
    for (double value : result.values) text += std::isnan(value) ? 'n' : '-';
    return text;
  };
  EXPECT_EQ(nans(relu({4}, x)), "n--n");
  EXPECT_EQ(nans(activation({4}, x, "thresholded_relu", 1, 0)), "n--n");
  // Windows (NaN, -1), (-1, 2) and (2, NaN).
  EXPECT_EQ(nans(max_pool2d({1, 1, 1, 4}, x, {1, 2, 1, 1, 0, 0})), "n-n");
  EXPECT_EQ(max_pool2d({1, 1, 1, 4}, x, {1, 2, 1, 1, 0, 0}).values[1], 2);
  EXPECT_EQ(nans(avg_pool2d({1, 1, 1, 4}, x, {1, 2, 1, 1, 0, 0}, true)), "n-n");
  const float other[] = {1, NAN, 3, NAN};
  for (const char* function : {"max", "min"})
    EXPECT_EQ(nans(pairwise({{4}, x}, {{4}, other}, function)), "nn-n") << function;
  const float w[] = {1};
  Conv2dProblem problem;
  problem.c = problem.k = problem.h = problem.r = problem.s = 1;
  problem.w = 4;
  EXPECT_EQ(nans(conv2d(problem, x, w, nullptr, true)), "n--n");
  EXPECT_TRUE(std::isnan(rectified(NAN, 0, 6)));
}

TEST(Comparison, AcceptsOnlyWhatIsClose) {
  const auto passes = [](float actual, double expected, double bound) {
    Comparison comparison;
    comparison.add(0, actual, expected, bound);
    return comparison.passed();
  };
  EXPECT_TRUE(passes(1.0f, 1.0, 0));
  EXPECT_TRUE(passes(1.5f, 1.0, 0.5));
  EXPECT_FALSE(passes(1.5f, 1.0, 0.4));
  EXPECT_FALSE(passes(NAN, 1.0, 1e30));
  EXPECT_FALSE(passes(1.0f, NAN, 1e30));
  EXPECT_FALSE(passes(NAN, NAN, 1e30));
  EXPECT_FALSE(passes(INFINITY, 1.0, 1e30));
  EXPECT_FALSE(passes(INFINITY, INFINITY, 0));
  EXPECT_FALSE(passes(1.0f, 1.0, NAN));
  EXPECT_FALSE(Comparison().passed()) << "nothing checked is nothing passed";
}

TEST(Comparison, ReportsTheFirstFailureAndTheWorstFigures) {
  Comparison comparison;
  comparison.add(0, 1.0f, 1.0, 0.1);
  comparison.add(7, 2.0f, 1.0, 0.1);
  comparison.add(9, NAN, 1.0, 0.2);
  EXPECT_EQ(comparison.failures(), 2);
  EXPECT_EQ(comparison.checked(), 3);
  EXPECT_TRUE(std::isinf(comparison.max_abs()));
  EXPECT_EQ(comparison.bound(), 0.2);
  EXPECT_NE(comparison.reason().find("first at 7"), std::string::npos) << comparison.reason();
}

TEST(Fills, AreWhatTheyClaim) {
  for (float value : small_integers(1000, 1)) {
    EXPECT_EQ(value, std::nearbyint(value));
    EXPECT_LE(std::fabs(value), 4);
  }
  std::set<float> seen;
  for (float value : uniform_values(1000, 1)) {
    EXPECT_GE(value, -1);
    EXPECT_LT(value, 1);
    seen.insert(value);
  }
  EXPECT_GT(seen.size(), 990u);
  const std::vector<float> hot = one_hot(5, 77, 3);
  for (size_t i = 0; i < 5; ++i) {
    double sum = 0;
    for (size_t j = 0; j < 77; ++j) sum += hot[i * 77 + j];
    EXPECT_EQ(sum, 1);
  }
  const std::vector<float> distinct = distinct_integers(3000, 1);
  for (size_t i = 1; i < distinct.size(); ++i) EXPECT_NE(std::fabs(distinct[i]), std::fabs(distinct[i - 1]));
  EXPECT_EQ(uniform_values(10, 4), uniform_values(10, 4));
  EXPECT_NE(uniform_values(10, 4), uniform_values(10, 5));
}

/// Returns true after `left` calls; `asked` counts the calls.
class Interruption : public testing::Test {
 protected:
  void TearDown() override { stop_when(nullptr); }
  template <typename Compute>
  void expect_ends(int64_t at_least, Compute&& compute) {
    asked = 0;
    left = INT64_MAX;
    stop_when(&answer);
    compute();
    EXPECT_GE(asked.load(), at_least) << "too long from one question to the next";
    asked = 0;
    left = at_least / 2;
    EXPECT_THROW(compute(), InterruptedError);
    EXPECT_LE(asked.load(), at_least / 2 + num_threads()) << "went on after the answer";
  }
  static bool answer() { return ++asked > left; }
  static inline std::atomic<int64_t> asked{0};
  static inline int64_t left = 0;
};

TEST_F(Interruption, EndsFillsBetweenBlocks) {
  constexpr size_t kCount = size_t{20} << 16;
  expect_ends(20, [] { small_integers(kCount, 1); });
  expect_ends(20, [] { uniform_values(kCount, 1); });
  expect_ends(20, [] { normal_values(kCount, 1); });
}

TEST_F(Interruption, EndsSumsBetweenOutputs) {
  Conv2dProblem problem;
  problem.c = problem.k = 2;
  problem.h = problem.w = 9;
  problem.r = problem.s = 3;
  const std::vector<float> x = uniform_values(2 * 81, 1), w = uniform_values(2 * 2 * 9, 2);
  expect_ends(2 * 49, [&] { conv2d(problem, x.data(), w.data(), nullptr, false); });
  expect_ends(81, [&] { linear({81, 2}, x.data(), 3, w.data(), nullptr); });
}

TEST(ChosenOutputs, AreAllOfFewAndARandomChoiceOfMany) {
  EXPECT_EQ(choose_outputs({2, 3, 4}, 24, 1).size(), 24u);
  EXPECT_EQ(choose_outputs({2, 3, 4}, 1000, 1).back(), 23);
  const std::vector<int64_t> many = choose_outputs({3, 500, 400}, 20000, 1);
  EXPECT_EQ(many.front(), 0);
  EXPECT_EQ(many.back(), 3 * 500 * 400 - 1);
  EXPECT_TRUE(std::is_sorted(many.begin(), many.end()));
  EXPECT_GT(many.size(), 18000u);
  EXPECT_LE(many.size(), 20000u);
  int edges = 0, odd_rows = 0;
  for (const int64_t index : many) {
    const int64_t row = index / 400 % 500, column = index % 400;
    edges += row == 0 || row == 499 || column == 0 || column == 399;
    odd_rows += row % 2;
  }
  // Every choice, however small, includes the first and the last output.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<int64_t> few = choose_outputs({3, 500, 400}, 64, seed);
    EXPECT_EQ(few.front(), 0) << seed;
    EXPECT_EQ(few.back(), 3 * 500 * 400 - 1) << seed;
  }
  EXPECT_GT(edges, 500) << "at random there would be some 180";
  EXPECT_NEAR(odd_rows, 10000, 1000);
  EXPECT_EQ(many, choose_outputs({3, 500, 400}, 20000, 1));
  EXPECT_NE(many, choose_outputs({3, 500, 400}, 20000, 2));
}

// The deepest shape of deep3x3.txt: 32.5 million outputs.
TEST(ChosenOutputs, LieInEveryTileOfEveryPlane) {
  constexpr int64_t kImages = 8, kFilters = 256, kSide = 126, kPatches = 16, kWanted = 150'000;
  const std::vector<int64_t> chosen = choose_outputs({kImages * kFilters, kSide, kSide}, kWanted, 1);
  EXPECT_GE(static_cast<int64_t>(chosen.size()), kWanted * 9 / 10);
  EXPECT_LE(static_cast<int64_t>(chosen.size()), kWanted);
  // 8 filters x 8 x 8 outputs: the smallest tile of a block.
  std::set<int64_t> tiles;
  for (const int64_t index : chosen) {
    const int64_t plane = index / (kSide * kSide), row = index / kSide % kSide, column = index % kSide;
    tiles.insert((plane / 8 * kPatches + row / 8) * kPatches + column / 8);
  }
  EXPECT_EQ(static_cast<int64_t>(tiles.size()), kImages * kFilters / 8 * kPatches * kPatches);
}

// For any number of threads.
TEST(Fill, IsTheSameForEveryNumberOfThreads) {
  const int threads = num_threads();
  constexpr size_t kCount = (size_t{3} << 16) + 5;
  std::vector<std::vector<float>> drawn;
  for (int count : {1, 3}) {
    set_num_threads(count);
    drawn.push_back(normal_values(kCount, 7));
    drawn.push_back(uniform_values(kCount, 7));
  }
  set_num_threads(threads);
  EXPECT_EQ(drawn[0], drawn[2]);
  EXPECT_EQ(drawn[1], drawn[3]);
}

TEST(GuardedMemory, SeesEveryByteAround) {
  Stream stream(Device::cpu());
  GuardedMemory memory(Device::cpu(), {5, 256, 0, 300});
  const auto bytes = [&](size_t block) { return static_cast<unsigned char*>(memory.block(block)); };
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes(i)) % Buffer::kAlignment, 0u);
  for (int byte : {kNanByte, kMarkByte}) {
    memory.poison(byte, stream);
    std::memset(bytes(0), 1, 5);
    std::memset(bytes(1), 2, 256);
    std::memset(bytes(3), 3, 300);
    EXPECT_EQ(memory.damage(byte, stream), "");
    for (unsigned char* place :
         {bytes(0) - 1, bytes(0) + 5, bytes(1) - 1, bytes(1) + 256, bytes(3) + 300,
          bytes(3) - GuardedMemory::kCanaryBytes / 2, bytes(0) - GuardedMemory::kCanaryBytes}) {
      const unsigned char before = *place;
      *place = 7;
      EXPECT_NE(memory.damage(byte, stream), "");
      *place = before;
    }
    EXPECT_EQ(memory.damage(byte, stream), "");
  }
  float nan = 0;
  std::memset(&nan, kNanByte, sizeof nan);
  EXPECT_TRUE(std::isnan(nan));
}

}  // namespace
}  // namespace lenslet::reference
