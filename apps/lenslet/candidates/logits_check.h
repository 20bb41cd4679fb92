// Compares the model's answers with the judge: the graph in fp64 (layers/reference).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/results/result_file.h"
#include "apps/lenslet/candidates/reference_layer.h"
#include "framework/execution/executable.h"
#include "framework/graph/graph.h"
#include "framework/tensor/math_mode.h"
#include "models/prediction.h"

namespace lenslet {

/// The reference's logits of some 8-bit samples. Sums are fp64; the values between layers are rounded to fp32.
class ReferenceLogits {
 public:
  /// `pixels` [count, ...] of the graph's input. Takes about a millisecond per sample for LeNet-5.
  ReferenceLogits(const Graph& graph, const uint8_t* pixels, int64_t count);

  /// The largest accepted error of a probability, whatever the bound of the logits.
  static constexpr double kProbabilityError = 1e-2;
  /// Classes whose logits differ by less are a tie: the probability of one of two such classes changes by a quarter of
  /// the change of their difference.
  static constexpr double kTieMargin = 4 * kProbabilityError;

  int64_t count() const noexcept { return count_; }
  /// The largest accepted error of a logit that `executable` computes. For a whole-network plan its backend derives it
  /// (Layer::output_bound). For a layered plan it is, relative to the largest of the reference's logits,
  ///   sum over the layers that sum products of  cancellation * (terms * 2^-24 + 2 * operand),
  /// cancellation = largest sum of |term| / largest |sum| in that layer of the judge; operand = relative error of each
  /// factor before it is multiplied: 2^-10 in tf32, 2^-11 in fp16, 0 in fp32. This is a first-order estimate. It
  /// assumes that every rounding is the worst and has the same sign, which compensates for what it omits: the growth of
  /// an error in later layers.
  double bound(const Executable& executable) const;
  /// Compares `slots` answers, logits [slots, ...] or predictions [slots]; slot i holds sample `sample_of[i]`. A
  /// label is correct if it is the reference's, or if the reference's logits of both differ by at most 2 bounds and
  /// kTieMargin. A probability is correct if logits within the bound can produce it and it differs from the reference's
  /// by at most kProbabilityError. Returns the first fault, empty if there is none; `error` gets the largest deviation
  /// (for predictions: of the probabilities).
  std::string compare(ElementType type, const void* answers, const std::vector<int32_t>& sample_of,
                      double bound, ResultError& error) const;

 private:
  double logit(int64_t sample, int64_t k) const {
    return values_[static_cast<size_t>(sample * classes_ + k)];
  }
  double probability(int64_t sample, int64_t label) const;
  double deviation(int64_t sample, const float* logits) const;
  double deviation(int64_t sample, Prediction prediction, double bound) const;

  int64_t count_, classes_;
  std::vector<double> values_;  // [count, classes]
  double scale_ = 0;            // the largest of them
  double rounding_ = 0;         // sum of cancellation * terms * 2^-24
  double operands_ = 0;         // sum of cancellation * 2
};

/// Compares an executable's answers with the reference's, any number of times.
class LogitsCheck {
 public:
  /// `pixels` [count, ...] of the graph's input; the first few are judged.
  LogitsCheck(const Graph& graph, const std::vector<uint8_t>& pixels);

  /// The executable's input must hold those samples. Fills every layer's output with NaN, runs one pass and compares.
  /// Returns the fault, empty if there is none.
  std::string run(Executable& executable);
  /// A step whose output exceeds its own error bound, which the judge computes from the step's input.
  struct WrongStep {
    size_t index;      // of Executable::steps()
    std::string what;  // "layer conv2 (winograd): output 17 is …"
  };
  /// The first wrong step of a pass over the executable's input, run step by step; nullopt for a whole-network plan, or
  /// if every step is within its bound.
  std::optional<WrongStep> first_wrong_step(Executable& executable) const;
  /// The largest deviation of all runs.
  const ResultError& error() const noexcept { return error_; }

 private:
  ReferenceLogits expected_;
  std::vector<int32_t> sample_of_;
  ResultError error_;
};

}  // namespace lenslet
