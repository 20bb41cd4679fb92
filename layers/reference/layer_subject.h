// Layers before the judge: one layer at one shape, the kinds of data it is judged with, and the bound of each output.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/layer.h"
#include "layers/pool/pool_window.h"
#include "layers/reference/reference.h"
#include "layers/reference/subjects.h"

namespace lenslet::reference {

/// A layer and one input for it.
struct LayerCase {
  std::string data;                             // "random, no bias"
  std::shared_ptr<const Layer> layer;           // with its weights
  Shape input;                                  // with batch
  std::vector<float> x;                         // values of the input
  std::function<Result(const float* x)> judge;  // the exact output
  std::function<double(MathMode)> factor;       // allowed deviation over the magnitude behind an output
  double floor = 0;                             // and besides

  /// The request for an operator of this case.
  OperatorRequest request(Device device, MathMode math, bool relu = false) const;
  /// Runs `op`, prepared for `request`, in guarded memory, and adds the verdict on its output to `result`. `shift`: of
  /// input and output from an aligned address, in values.
  void verify(Operator& op, const OperatorRequest& request, Stream& stream, int64_t shift,
              VerifyResult& result) const;

 private:
  mutable std::optional<Result> expected_;
};

/// Its cases differ in their data, and in whether there is a bias. The first is of random values, with bias.
class LayerSubject : public Subject {
 public:
  /// At least one case.
  LayerSubject(std::string problem, std::vector<LayerCase> cases, SubjectOptions options)
      : problem_(std::move(problem)), cases_(std::move(cases)), options_(options) {}
  std::string_view operation() const override { return cases_[0].layer->type(); }
  const std::string& problem() const override { return problem_; }
  std::vector<std::string> backends(DeviceKind kind) const override {
    return cases_[0].layer->backends(kind);
  }
  bool uses_math() const override { return cases_[0].layer->uses_math(); }
  std::shared_ptr<const Layer> layer() const override { return cases_[0].layer; }
  Shape input() const override { return cases_[0].input; }
  /// What verify() goes through.
  const std::vector<LayerCase>& cases() const noexcept { return cases_; }

 private:
  /// Every case, without and with a fused ReLU where the backend can fuse it.
  VerifyResult judge(const std::string& backend, MathMode math, Stream& stream, int64_t shift) const override;

  std::string problem_;
  std::vector<LayerCase> cases_;
  SubjectOptions options_;
};

/// Maxima, means that count the padding, means of what lies inside.
enum class Pooling { kMax, kAverage, kAverageInside };

/// y [N, outputs] of x [N, ...], with and without bias, of integers and of random values.
LayerSubject linear_subject(const Shape& input, int64_t outputs, SubjectOptions options = {});
/// Of integers and of random values.
LayerSubject pool_subject(Pooling kind, const Shape& input, const Pool2dWindow& window,
                          SubjectOptions options = {});
/// Of random values.
LayerSubject relu_subject(const Shape& input, SubjectOptions options = {});
/// Random values from -scale to scale.
LayerSubject softmax_subject(const Shape& input, double scale, SubjectOptions options = {});

}  // namespace lenslet::reference
