// Verifies every convolution backend that fuses a max pooling, on every problem list: convolution, then pooling.
// Compiled once for each kind of device.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "framework/tensor/keep_nan.h"
#include "layers/reference/conv_verify.h"
#include "tests/conv/conv_fixture.h"
#include "tests/support/host_values.h"

namespace lenslet {
namespace {

using ConvPooling = OpenedConvBackendAndList;

TEST_P(ConvPooling, AgreesWithTheReference) {
  const auto& [name, list] = GetParam();
  std::string reason;
  Stream stream(kDevice);
  int verified = 0, refused = 0;
  const std::vector<Conv2dProblem> problems = problems_of(name, list);
  for (size_t i = 0; i < problems.size(); ++i) {
    const Conv2dProblem& problem = problems[i];
    for (const Pool2dWindow& window : windows_of(problem, i)) {
      for (MathMode math : kMathModes) {
        if (!backend_->supports(problem, math)) continue;
        if (const Support fuses = backend_->fuses_max_pool(problem, math, window); !fuses) {
          EXPECT_EQ(lacks(fuses.reason()), "") << problem.to_string();
          reason = fuses.reason();
          ++refused;
          continue;
        }
        ConvVerifyOptions options;
        options.max_reference_macs = int64_t{1} << 21;
        options.bias_and_relu = problem.flops() < 1e8 && i % 3 == 0;
        options.max_pool = window;
        const VerifyResult result = ConvVerifier(problem, options).verify(*backend_, math, stream);
        EXPECT_TRUE(result.passed) << to_string(math) << " " << result.reason << " [" << result.detail << "]";
        EXPECT_GT(result.checked, 0) << problem.to_string();
        ++verified;
        for (const ConvEnds& ends : kHalfEnds) {
          if (!backend_->takes_ends(problem, math, ends, window)) continue;
          options.ends = ends;
          const VerifyResult stored = ConvVerifier(problem, options).verify(*backend_, math, stream);
          EXPECT_TRUE(stored.passed) << to_string(math) << " " << stored.reason << " [" << stored.detail
                                     << "]";
        }
      }
    }
  }
  RecordProperty("verified", verified);
  RecordProperty("refused", refused);
  // The project's own direct convolution supports any window that fits its blocks, so all of these.
  if (name == "direct" && kDevice.is_cuda()) {
    EXPECT_EQ(refused, 0) << reason;
  }
  if (verified == 0) GTEST_SKIP() << "fuses no problem of its list: " << reason;
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvPooling,
                         testing::Combine(testing::ValuesIn(backend_names()),
                                          testing::ValuesIn(list_parts())),
                         ByName());

class ConvPooled : public OpenedConvBackend {
 protected:
  /// The backend's output for x: all of it, or with a window only the maxima.
  std::vector<float> run(const Conv2dProblem& problem, const std::vector<float>& x,
                         const std::vector<float>& weights, bool relu,
                         const std::optional<Pool2dWindow>& window, MathMode math = MathMode::kFp32) {
    Stream stream(kDevice);
    DevicePrepareServices services(stream);
    const auto kernel = backend_->prepare(
        {problem, math, weights.data(), nullptr, relu, SIZE_MAX, services, stream, "", window});
    const int64_t rows = window ? window->rows(problem.p()) : problem.p(),
                  columns = window ? window->columns(problem.q()) : problem.q();
    return output_of(*kernel, x, static_cast<size_t>(problem.n * problem.k * rows * columns), stream);
  }
  /// Maxima over a window of each plane of y, by the definition.
  static std::vector<float> pool(const Conv2dProblem& problem, const std::vector<float>& y,
                                 const Pool2dWindow& window) {
    const int64_t height = problem.p(), width = problem.q();
    std::vector<float> pooled;
    for (size_t plane = 0; plane < y.size(); plane += static_cast<size_t>(height * width)) {
      for (int64_t p = 0; p < window.rows(height); ++p) {
        for (int64_t q = 0; q < window.columns(width); ++q) {
          float largest = -INFINITY;
          const int64_t top = p * window.stride_h - window.pad_h, left = q * window.stride_w - window.pad_w;
          for (int64_t i = std::max<int64_t>(top, 0); i < std::min(top + window.r, height); ++i) {
            for (int64_t j = std::max<int64_t>(left, 0); j < std::min(left + window.s, width); ++j) {
              largest = larger(largest, y[plane + static_cast<size_t>(i * width + j)]);
            }
          }
          pooled.push_back(largest);
        }
      }
    }
    return pooled;
  }
  /// Problems and windows that the backend fuses in fp32; `reason` is that of the last one that it does not.
  std::vector<std::pair<Conv2dProblem, Pool2dWindow>> cases(std::string& reason) const {
    std::vector<std::pair<Conv2dProblem, Pool2dWindow>> cases;
    for (const char* text :
         {"mb3ic1ih28oc6oh24kh5", "mb3ic6ih12oc16oh8kh5", "mb2ic3ih32oc3oh32kh3ph1", "mb2ic9ih13oc11kh3",
          "mb2ic4ih11oc5oh4kh4sh2",
          "mb1ic1ih6iw1400oc9kh3"}) {  // wider than one tile of the CPU's direct convolution
      const Conv2dProblem problem = Conv2dProblem::parse(text);
      for (const Pool2dWindow& window : kWindows) {
        Support can = backend_->supports(problem, MathMode::kFp32);
        if (can && window.rows(problem.p()) >= 1 && window.columns(problem.q()) >= 1) {
          can = backend_->fuses_max_pool(problem, MathMode::kFp32, window);
          if (can) cases.emplace_back(problem, window);
        }
        if (!can) reason = can.reason();
      }
    }
    return cases;
  }
};

// Small integers are exact, so NaN and infinity must be where the two separate steps would give them.
TEST_P(ConvPooled, KeepsNanAndInfinity) {
  std::string reason;
  const auto fused = cases(reason);
  if (fused.empty()) GTEST_SKIP() << reason;
  for (const auto& [problem, window] : fused) {
    std::vector<float> x(static_cast<size_t>(problem.input_shape().num_elements()), 1.0f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3.0f;
    const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()), -1.0f);
    x[static_cast<size_t>(problem.h / 2 * problem.w + problem.w / 2)] = NAN;
    x[x.size() / 2] = INFINITY;
    x[x.size() - 1] = -INFINITY;
    for (const bool relu : {false, true}) {
      const std::vector<float> expected = pool(problem, run(problem, x, weights, relu, {}), window);
      const std::vector<float> y = run(problem, x, weights, relu, window);
      ASSERT_EQ(y.size(), expected.size());
      int nans = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        nans += std::isnan(y[i]);
        ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(y[i]) : y[i] == expected[i])
            << problem.to_string() << ", window " << window.r << "x" << window.s << (relu ? ", relu" : "")
            << ", at " << i << ": " << y[i] << ", two steps " << expected[i];
      }
      EXPECT_GT(nans, 0);
      EXPECT_LT(nans, static_cast<int>(y.size()));
    }
  }
}

// LeNet's layers: the order of the sums equals that of the kernel that stores every output.
TEST_P(ConvPooled, GivesTheBitsOfTwoSteps) {
  int fused = 0;
  std::string reason = "it supports none of the layers";
  for (const char* text : {"mb70ic1ih28oc6oh24kh5", "mb70ic6ih12oc16oh8kh5", "mb3ic16ih19oc16oh17kh3"}) {
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    const Pool2dWindow window = Pool2dWindow::square(2, 2);
    const auto x = reference::normal_values(static_cast<size_t>(problem.input_shape().num_elements()), 1);
    const auto weights =
        reference::normal_values(static_cast<size_t>(problem.weight_shape().num_elements()), 2);
    for (const MathMode math : kMathModes) {
      if (!backend_->supports(problem, math)) continue;
      if (const Support can = backend_->fuses_max_pool(problem, math, window); !can) {
        reason = can.reason();
        continue;
      }
      ++fused;
      for (const bool relu : {false, true}) {
        const std::vector<float> expected = pool(problem, run(problem, x, weights, relu, {}, math), window);
        const std::vector<float> y = run(problem, x, weights, relu, window, math);
        ASSERT_EQ(y.size(), expected.size());
        EXPECT_TRUE(same_bits(y, expected)) << text << " " << to_string(math) << (relu ? ", relu" : "");
      }
    }
  }
  if (fused == 0) GTEST_SKIP() << reason;
}

// An unsupported window is refused with a reason, also by name.
TEST_P(ConvPooled, RefusesWhatDoesNotFit) {
  const Conv2dProblem problem = Conv2dProblem::parse("mb1ic1ih28oc6oh24kh5");
  if (const Support fp32 = backend_->supports(problem, MathMode::kFp32); !fp32) GTEST_SKIP() << fp32.reason();
  Pool2dWindow uneven, dilated, ceil;
  uneven.more_pad_h = 1;
  dilated.dilation_w = 2;
  ceil.ceil = true;
  for (const Pool2dWindow& window :
       {Pool2dWindow::square(25, 1), Pool2dWindow{1, 1, 1, 1, 1, 0}, uneven, dilated, ceil}) {
    SCOPED_TRACE(window.to_string());
    EXPECT_EQ(lacks(backend_->fuses_max_pool(problem, MathMode::kFp32, window).reason()), "");
    Stream stream(kDevice);
    DevicePrepareServices services(stream);
    const std::vector<float> weights(150, 1.0f);
    if (!backend_->fuses_max_pool(problem, MathMode::kFp32, Pool2dWindow::square(2, 2))) continue;
    EXPECT_THROW(backend_->prepare({problem, MathMode::kFp32, weights.data(), nullptr, false, SIZE_MAX,
                                    services, stream, "", window}),
                 UnavailableError);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvPooled, testing::ValuesIn(backend_names()), ByName());

}  // namespace
}  // namespace lenslet
