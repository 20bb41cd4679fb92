// Layers as subjects of the judge: a layer at one shape, its kinds of data, and the bound of each output.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/layer.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_window.h"
#include "layers/reference/reference.h"
#include "layers/reference/subjects.h"

namespace lenslet::reference {

/// A further input of a layer, with its values.
struct OwnedInput {
  Shape shape;                // with batch
  std::vector<float> values;  // in C order
};

/// A rectifier that a backend may fuse, and what it computes by the judge's own reading: y = min(x < 0 ? slope * x : x,
/// ceiling). By default no layer, which changes nothing.
struct FusedRectifier {
  const Layer* layer = nullptr;  // null for none
  double slope = 1;              // factor of negative values
  double ceiling = INFINITY;     // the largest result
};
/// The rectifiers with which every backend is judged: none first, then ReLU, a LeakyReLU and a Clip, each alone.
const std::vector<FusedRectifier>& fused_rectifiers();

/// A layer and one input for it, or several.
struct LayerCase {
  std::string data;                             // "random, no bias"
  std::shared_ptr<const Layer> layer;           // with its weights
  Shape input;                                  // with batch
  std::vector<float> x;                         // values of the input
  std::vector<OwnedInput> others;               // further inputs
  std::function<Result(const float* x)> judge;  // the exact output
  std::function<double(MathMode)> factor;       // allowed deviation, relative to the magnitude of an output
  double floor = 0;                             // additional absolute deviation

  /// The shapes of all inputs.
  std::vector<Shape> inputs() const;
  /// The request for an operator of this case; with a rectifier, for one that also computes it.
  OperatorRequest request(Device device, MathMode math, const FusedRectifier& after = {}) const;
  /// Runs `op` in guarded memory and adds the verdict on its output to `result`. `op` is prepared for `request`.
  /// request() made `request` with `after`; its types of one input and the output may be fp16. `shift`: offset of input
  /// and output from an aligned address, in values.
  void verify(Operator& op, const OperatorRequest& request, const FusedRectifier& after, Stream& stream,
              int64_t shift, VerifyResult& result) const;

 private:
  mutable std::optional<Result> expected_, expected_of_fp16_;
};

/// The types of a layer's input and output between layers.
struct LayerEnds {
  ElementType input = ElementType::kFp32, output = ElementType::kFp32;  // fp32, fp16
};
/// The types with which every backend is judged: fp32 first.
inline constexpr LayerEnds kLayerEnds[] = {{},
                                           {ElementType::kFp32, ElementType::kFp16},
                                           {ElementType::kFp16, ElementType::kFp32},
                                           {ElementType::kFp16, ElementType::kFp16}};

/// The cases differ in their data and in the presence of a bias. The first has random values and a bias.
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
  std::vector<Shape> inputs() const override { return cases_[0].inputs(); }
  /// The cases of verify().
  const std::vector<LayerCase>& cases() const noexcept { return cases_; }

 private:
  /// Every case, alone and with each of fused_rectifiers() that the backend fuses, with each of kLayerEnds that it
  /// takes; at a shifted address only with fp32, as other tensors lie at aligned ones.
  VerifyResult judge(const std::string& backend, MathMode math, Stream& stream, int64_t shift) const override;

  std::string problem_;
  std::vector<LayerCase> cases_;
  SubjectOptions options_;
};

/// Maxima, means that include the padding, and means that exclude it.
enum class Pooling { kMax, kAverage, kAverageInside };

/// y [N, outputs] of x [N, ...], or y [N, ..., outputs] of the rows of x, with and without bias, for integers and
/// random values.
LayerSubject linear_subject(const Shape& input, int64_t outputs, SubjectOptions options = {},
                            LinearVectors vectors = LinearVectors::kSamples);
/// For integers and random values.
LayerSubject pool_subject(Pooling kind, const Shape& input, const Pool2dWindow& window,
                          SubjectOptions options = {});
/// For random values.
LayerSubject relu_subject(const Shape& input, SubjectOptions options = {});
/// Each sample in the shape `sample`, for random values.
LayerSubject reshape_subject(const Shape& input, const Shape& sample, SubjectOptions options = {});
/// Every function of PairwiseLayer of two inputs of these shapes, for random values and, except pow, integers.
LayerSubject pairwise_subject(const Shape& a, const Shape& b, SubjectOptions options = {});
/// Every function of an input and a constant, in both orders, for the same data.
LayerSubject constant_subject(const Shape& input, const Shape& constant, SubjectOptions options = {});
/// For random values.
LayerSubject lrn_subject(const Shape& input, int64_t size, float alpha, float beta, float bias,
                         SubjectOptions options = {});
/// For random values.
LayerSubject transpose_subject(const Shape& input, const std::vector<int>& order,
                               SubjectOptions options = {});
/// For random values.
LayerSubject pad_subject(const Shape& input, const std::vector<int64_t>& before,
                         const std::vector<int64_t>& after, SubjectOptions options = {});
/// For random values.
LayerSubject slice_subject(const Shape& input, const std::vector<int64_t>& starts,
                           const std::vector<int64_t>& steps, const std::vector<int64_t>& counts,
                           SubjectOptions options = {});
/// For random values.
LayerSubject concat_subject(const std::vector<Shape>& inputs, int axis, SubjectOptions options = {});
/// Random values from -scale to scale.
LayerSubject softmax_subject(const Shape& input, double scale, SubjectOptions options = {}, int axis = -1,
                             bool logarithms = false);
/// One function of ActivationLayer, or every one; random values of its domain, with two pairs of parameters, and
/// integers for those that are exact on them.
LayerSubject activation_subject(const Shape& input, SubjectOptions options = {},
                                const std::string& only = {});

}  // namespace lenslet::reference
