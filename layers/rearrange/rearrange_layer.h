// Layers that move values and compute nothing: transpose, pad, slice, concat. Each is a few copies with strides. The
// batch, the first dimension, stays where it is.
#pragma once

#include <optional>
#include <vector>

#include "framework/graph/layer.h"

namespace lenslet {

struct StridedCopy;

/// Base of the four layers below.
class RearrangeLayer : public Layer {
 public:
  /// No operations.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;
  /// One for each input.
  virtual std::vector<StridedCopy> copies(const std::vector<Shape>& inputs) const = 0;
  /// What the output holds where no copy writes; none if copies write all of it.
  virtual std::optional<float> background() const { return std::nullopt; }
};

/// Dimension i of the output is dimension order[i] of the input.
class TransposeLayer : public RearrangeLayer {
 public:
  /// Throws DataError unless `order` has every dimension once and the batch first.
  explicit TransposeLayer(std::vector<int> order);
  std::string_view type() const override { return "transpose"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// The order that the constructor took.
  const std::vector<int>& order() const noexcept { return order_; }

 private:
  std::vector<StridedCopy> copies(const std::vector<Shape>& inputs) const override;
  std::vector<int> order_;
};

/// A constant around each sample; negative sizes cut.
class PadLayer : public RearrangeLayer {
 public:
  /// Values before and after in each dimension, 0 for the batch. Throws DataError.
  PadLayer(std::vector<int64_t> before, std::vector<int64_t> after, float value);
  std::string_view type() const override { return "pad"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// Values before the sample in each dimension; a negative number cuts.
  const std::vector<int64_t>& before() const noexcept { return before_; }
  /// Values after the sample in each dimension; a negative number cuts.
  const std::vector<int64_t>& after() const noexcept { return after_; }
  float value() const noexcept { return value_; }  ///< The constant.

 private:
  std::vector<StridedCopy> copies(const std::vector<Shape>& inputs) const override;
  std::optional<float> background() const override { return value_; }
  std::vector<int64_t> before_, after_;
  float value_;
};

/// Every step-th value from `start` on in each dimension.
class SliceLayer : public RearrangeLayer {
 public:
  /// In each dimension the first index, the distance of indices, which may be negative, and their number; for the batch
  /// 0, 1 and any. Throws DataError.
  SliceLayer(std::vector<int64_t> starts, std::vector<int64_t> steps, std::vector<int64_t> counts);
  std::string_view type() const override { return "slice"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// The first indices that the constructor took.
  const std::vector<int64_t>& starts() const noexcept { return starts_; }
  const std::vector<int64_t>& steps() const noexcept { return steps_; }  ///< The distances that it took.

 private:
  std::vector<StridedCopy> copies(const std::vector<Shape>& inputs) const override;
  std::vector<int64_t> starts_, steps_, counts_;
};

/// The inputs one after another in dimension `axis`.
class ConcatLayer : public RearrangeLayer {
 public:
  /// `axis` counts from the front, above 0. Throws DataError.
  explicit ConcatLayer(int axis);
  std::string_view type() const override { return "concat"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  int axis() const noexcept { return axis_; }  ///< As given.

 private:
  std::vector<StridedCopy> copies(const std::vector<Shape>& inputs) const override;
  int axis_;
};

}  // namespace lenslet
