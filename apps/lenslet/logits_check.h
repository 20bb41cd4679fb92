// What the model answers, before the judge: the graph in fp64 (layers/reference).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/result_file.h"
#include "framework/executable.h"
#include "framework/graph.h"
#include "framework/math_mode.h"
#include "layers/reference/reference.h"

namespace lenslet {

/// What the judge says of one layer's output for input `x`; `terms` gets the products behind each output and its bias,
/// 0 where nothing is summed. Throws std::logic_error for a layer the judge does not know.
reference::Result reference_layer(const Layer& layer, const Shape& shape, const std::vector<float>& x,
                                  int64_t& terms);

/// The judge's logits of some 8-bit pictures. Sums are fp64; what one layer hands to the next is rounded to fp32 once.
class ReferenceLogits {
 public:
  /// `pixels` [count, 28, 28]. About a millisecond a picture.
  ReferenceLogits(const Graph& graph, const uint8_t* pixels, int64_t count);

  /// How far a probability may lie from the judge's at most, whatever the bound of the logits.
  static constexpr double kProbabilityError = 1e-2;
  /// Classes whose logits differ by less are a tie: the probability of one of two such classes moves by a quarter of
  /// what their difference moves.
  static constexpr double kTieMargin = 4 * kProbabilityError;

  int64_t count() const noexcept { return count_; }
  /// How far a logit that `executable` computes may lie from the judge's. Of a fused plan what its variant derived
  /// (FusedModel::output_bound). Of a layered one, relative to the largest of the judge's logits,
  ///   sum over the layers that sum products of  cancellation * (terms * 2^-24 + 2 * operand),
  /// cancellation = largest sum of |term| / largest |sum| of that layer, as the judge saw it; operand = what each
  /// factor loses before it is multiplied, 2^-10 in tf32, 2^-11 in fp16, 0 in fp32. A first-order estimate: it takes
  /// every rounding at its worst and the same sign, which makes up for what it leaves out, the growth of an error in
  /// the layers after it.
  double bound(const Executable& executable) const;
  /// Compares `slots` answers, logits [slots, 10] or predictions [slots]; slot i holds picture `picture_of[i]`. A label
  /// is right where it is the judge's, or where the judge's logits of both lie within 2 bounds, and at most kTieMargin,
  /// of each other; a probability where logits within the bound could give it and it lies within kProbabilityError of
  /// the judge's. Returns what is wrong, empty when nothing is; `error` gets the largest deviation (of probabilities
  /// for predictions).
  std::string compare(ElementType type, const void* answers, const std::vector<int32_t>& picture_of,
                      double bound, ResultError& error) const;

 private:
  double logit(int64_t picture, int64_t k) const { return values_[static_cast<size_t>(picture * 10 + k)]; }
  double probability(int64_t picture, int64_t label) const;
  double deviation(int64_t picture, const float* logits) const;
  double deviation(int64_t picture, Prediction prediction, double bound) const;

  int64_t count_;
  std::vector<double> values_;  // [count, 10]
  double scale_ = 0;            // the largest of them
  double rounding_ = 0;         // sum of cancellation * terms * 2^-24
  double operands_ = 0;         // sum of cancellation * 2
};

/// Compares what an executable answers with what the judge does, as often as asked.
class LogitsCheck {
 public:
  /// `pixels` [count, 28, 28], of which the first few are judged.
  LogitsCheck(const Graph& graph, const std::vector<uint8_t>& pixels);

  /// The executable's input holds those pictures. Fills what every layer writes with NaN, runs one pass and compares.
  /// Empty, or what is wrong.
  std::string run(Executable& executable);
  /// A step whose output leaves the bound of its own arithmetic, as the judge computes it from what the step read.
  struct WrongStep {
    size_t index;      // of Executable::steps()
    std::string what;  // "layer conv2 (winograd): output 17 is …"
  };
  /// The first one of a pass over the executable's input, run step by step; none in a fused plan, or where each keeps
  /// its bound.
  std::optional<WrongStep> first_wrong_step(Executable& executable) const;
  /// Of all the runs: the largest deviation.
  const ResultError& error() const noexcept { return error_; }

 private:
  ReferenceLogits expected_;
  std::vector<int32_t> picture_of_;
  ResultError error_;
};

}  // namespace lenslet
