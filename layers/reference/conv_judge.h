// ConvJudge: weights and inputs of one convolution, and the fp64 reference's verdict on outputs.
//
// The verifier uses it with every fill, the benchmark for what it times. All internal data is NCHW; inputs and outputs
// have the problem's layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/conv/conv_accuracy.h"
#include "layers/conv/conv_problem.h"
#include "layers/pool/pool_window.h"
#include "layers/rectifier.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/reference/reference.h"

namespace lenslet {

/// One input and the reference values for it.
struct ConvCase {
  /// One judged output.
  struct Sample {
    int64_t index = 0;     // into y, in the problem's layout
    int64_t n = 0, k = 0;  // its image and filter
    reference::Term term;  // for a pooled output: the largest value and the largest magnitude in its window
  };
  reference::Fill fill = reference::Fill::kRandom;  // the kind of data
  std::vector<float> x;                             // in the problem's layout, each exact in the type of x
  std::vector<double> image_maximum;                // [N], max|x[n]|
  std::vector<Sample> samples;                      // the judged outputs
};

/// Number of judged outputs of a large problem, if time allows: more than a deep layer has tiles.
constexpr int64_t kJudgedOutputs = 150'000;
/// The reference's multiply-adds for that many outputs.
inline int64_t judged_macs(const Conv2dProblem& problem) { return kJudgedOutputs * conv_terms(problem); }

/// Weights of a problem, and the reference values for inputs.
class ConvJudge {
 public:
  /// A problem with more than `max_reference_macs` multiply-adds is judged at as many outputs as that number allows,
  /// spread by choose_outputs.h. With a window the outputs are the maxima over it. Bias and rectifiers are monotonic:
  /// they may be applied to the maximum, and the error of a maximum is at most that of its arguments. `ends`: of a
  /// problem of fp32, the types of x and y; those of other problems are the problem's.
  /// Throws UsageError for an impossible problem.
  ConvJudge(const Conv2dProblem& problem, reference::Fill fill, uint64_t seed, int64_t max_reference_macs,
            const std::optional<Pool2dWindow>& max_pool = {}, const ConvEnds& ends = {});

  /// [K, C/G, R, S], each value exact in the problem's type.
  const std::vector<float>& weights() const noexcept { return weights_; }
  /// [K], each value exact in the problem's type.
  const std::vector<float>& bias() const noexcept { return bias_; }
  /// Elements of y, by the judge's own count of rows and columns.
  int64_t outputs() const noexcept { return int64_t{problem_.n} * problem_.k * rows_ * columns_; }
  /// Empty if the problem's own output size equals the judge's; else the difference.
  std::string size_error() const;
  /// Another input for the same weights; the same seed gives the same input. Throws InterruptedError if
  /// stopped().
  ConvCase make_case(uint64_t seed) const;
  /// Like make_case(), for an input that another judge of the problem made; `x` in the problem's layout.
  ConvCase case_of(std::vector<float> x, uint64_t seed) const;
  /// The judge of the same weights for the problem in NHWC.
  ConvJudge in_nhwc() const;
  /// A case of this judge, whose problem is NCHW, as in_nhwc().make_case() would compute it anew.
  ConvCase in_nhwc(const ConvCase& data) const;
  /// Compares y (in the problem's layout) at the samples. Callers check that all other elements are numbers.
  reference::Comparison compare(const ConvCase& data, const std::vector<float>& y,
                                const ConvAccuracy& accuracy, bool bias, const Rectifier& after) const;

 private:
  /// make_case() for that input; `x` and the case's are NCHW.
  ConvCase answers_to(std::vector<float> x, uint64_t seed) const;
  /// The largest value and magnitude in the window of one output.
  reference::Term term_at(const float* x, const reference::OutputPlace& y) const;

  Conv2dProblem problem_;
  ConvEnds ends_;
  reference::Fill fill_;
  int64_t max_reference_macs_;
  reference::PoolWindow window_;                                       // a single output without pooling
  int64_t conv_rows_ = 0, conv_columns_ = 0, rows_ = 0, columns_ = 0;  // before and after pooling
  std::vector<float> weights_, bias_;
  std::vector<double> filter_sum_;  // [K], sum|w[k]|
};

/// The reference's window of the same size and place.
reference::PoolWindow reference_window(const Pool2dWindow& window);

/// Host copies from and to channels-last order; [N, C, H, W] by `shape`.
std::vector<float> nchw_to_nhwc(const std::vector<float>& values, const Shape& shape);
/// `shape` is [N, C, H, W]; `values` [N, H, W, C].
std::vector<float> nhwc_to_nchw(const std::vector<float>& values, const Shape& shape);

}  // namespace lenslet
