// The logits of what is profiled before the judge: the model in fp64 (layers/reference).
#pragma once

#include <string>
#include <vector>

#include "apps/common/result_file.h"
#include "framework/executable.h"
#include "framework/graph.h"
#include "framework/math_mode.h"

namespace lenslet {

/// A graph computed by the judge. Sums are fp64; what one layer hands to the next is rounded to fp32 once.
struct ReferenceOutput {
  std::vector<double> values;  // of the last node
  /// How far a right result may lie from `values`, relative to the largest of them:
  ///   sum over the layers that sum products of  cancellation * (terms * 2^-24 + 2 * operand),
  /// cancellation = largest sum of |term| / largest |sum| of that layer, as the judge saw it; operand = what each factor
  /// loses before it is multiplied, 2^-10 in tf32, 2^-11 in fp16, 0 in fp32. A first-order estimate: it takes every rounding at its worst and the same sign,
  /// which makes up for what it leaves out, the growth of an error in the layers after it.
  double relative_bound = 0;
};

/// `input` [N, ...] in host memory. Throws std::logic_error for a layer the judge does not know.
ReferenceOutput reference_output(const Graph& graph, const Shape& input, const std::vector<float>& values,
                                 MathMode math);

/// Compares an executable's output with the judge's, as often as asked.
class LogitsCheck {
 public:
  /// `images` [N, 1, 28, 28], of which the first few are judged.
  LogitsCheck(const Graph& graph, const std::vector<float>& images, MathMode math);

  /// Fills what every layer writes with NaN, runs one pass and compares. Empty, or what is wrong.
  std::string run(Executable& executable);
  /// Of all the runs: the largest deviation.
  const ResultError& error() const noexcept { return error_; }

 private:
  ReferenceOutput expected_;
  double scale_ = 0;
  ResultError error_;
};

}  // namespace lenslet
