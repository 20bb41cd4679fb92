// Compares the model's answers with the judge: the graph in fp64 (layers/reference).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
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
  /// `pixels` [count, ...] of the graph's input. Takes about a millisecond per sample for LeNet-5. The graph must
  /// outlive this.
  ReferenceLogits(const Graph& graph, const uint8_t* pixels, int64_t count);

  int64_t count() const noexcept { return count_; }
  /// The largest accepted error of a logit that `executable`, of the same graph, computes. For a whole-network plan its
  /// backend derives it (Layer::output_bound). For a layered plan it is carried from the input to the last node, value
  /// by value: at each node the error of its backend is added to the effect of the errors of its inputs
  /// (layer_deviations()). It is eight deviations of the worst logit, plus its change by mean_loss(). With every
  /// error at its worst it would be useless: 13 for LeNet-5 in fp32 (models/fused_lenet5/error_bound.h). Takes about as
  /// long as the constructor, in tf32 and fp16 twice that, but only once for the same backends in the same math modes.
  /// Not thread-safe.
  double bound(const Executable& executable) const;
  /// Compares `slots` answers, logits [slots, ...] or predictions [slots]; slot i holds sample `sample_of[i]`. A
  /// label is correct if it is the reference's, or if the reference's logits of both differ by at most 2 bounds. A
  /// probability is correct if logits within the bound can produce it. Returns the first fault, empty if there is none;
  /// `error` gets the largest deviation (for predictions: of the probabilities).
  std::string compare(ElementType type, const void* answers, const std::vector<int32_t>& sample_of,
                      double bound, ResultError& error) const;

 private:
  double logit(int64_t sample, int64_t k) const {
    return values_[static_cast<size_t>(sample * classes_ + k)];
  }
  double probability(int64_t sample, int64_t label) const;
  double deviation(int64_t sample, const float* logits) const;
  double deviation(int64_t sample, Prediction prediction, double bound) const;

  /// The output of a node.
  struct Value {
    Shape shape;
    std::vector<float> data;
    std::vector<float> magnitudes;  // of reference::Result
    int64_t terms = 0;              // of reference_layer()
  };
  /// What computes each node, the input excluded.
  using Arithmetic = std::vector<std::pair<const BackendEntry*, MathMode>>;

  std::vector<LayerInput> inputs_of(const Graph::Node& node, const std::vector<Value>& values) const;
  Arithmetic arithmetic_of(const Executable& executable) const;
  double carried_bound(const Arithmetic& arithmetic) const;
  /// What mean_loss() changes each logit by; empty if nothing.
  std::vector<double> mean_errors(const Arithmetic& arithmetic) const;

  const Graph& graph_;
  int64_t count_, classes_;
  std::vector<Value> computed_;  // by node; node 0 is the input
  std::vector<double> values_;   // [count, classes]
  double scale_ = 0;             // the largest of them
  mutable std::map<Arithmetic, double> bounds_;
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
