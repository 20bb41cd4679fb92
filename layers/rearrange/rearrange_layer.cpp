#include "layers/rearrange/rearrange_layer.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/joined_numbers.h"
#include "layers/rearrange/rearrange_backend.h"

namespace lenslet {
namespace {

using Sizes = std::vector<int64_t>;

class RearrangeOperator : public Operator {
 public:
  RearrangeOperator(const RearrangeBackend& backend, std::vector<StridedCopy> copies,
                    std::optional<float> background)
      : backend_(backend), copies_(std::move(copies)), background_(background) {}
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    if (background_) backend_.fill(output.data, output.shape.num_elements(), *background_, context.stream);
    for (size_t i = 0; i < copies_.size(); ++i)
      backend_.copy(copies_[i], inputs[i].data, output.data, context.stream);
  }

 private:
  const RearrangeBackend& backend_;
  std::vector<StridedCopy> copies_;
  std::optional<float> background_;
};

Sizes strides_of(const Shape& shape) {
  Sizes strides(static_cast<size_t>(shape.rank()), 1);
  for (int i = shape.rank() - 1; i-- > 0;)
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i + 1)] * shape[i + 1];
  return strides;
}

const Shape& of_rank(size_t rank, std::string_view type, const Shape& input) {
  if (input.rank() != static_cast<int>(rank))
    throw DataError(concat(type, " of ", rank, " dimensions, found an input ", input.to_string()));
  return input;
}

std::string list(const Sizes& values) { return joined_numbers(values, " "); }

}  // namespace

Work RearrangeLayer::work(const std::vector<Shape>& inputs) const {
  return {0, 2.0 * static_cast<double>(infer_shape(inputs).bytes())};
}

std::vector<const BackendEntry*> RearrangeLayer::backend_entries(DeviceKind kind) const {
  return rearrange_table().entry_pointers(kind);
}

std::unique_ptr<Operator> RearrangeLayer::make_operator(const BackendEntry& backend,
                                                        const OperatorRequest& request,
                                                        Stream& /*stream*/) const {
  return std::make_unique<RearrangeOperator>(
      static_cast<const BackendEntryOf<RearrangeBackend>&>(backend).open(), copies(request.inputs),
      background());
}

TransposeLayer::TransposeLayer(std::vector<int> order) : order_(std::move(order)) {
  std::vector<int> sorted = order_;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int>(i) || order_[0] != 0 || sorted.size() > Shape::kMaxRank)
      throw DataError("transpose expected every dimension once, and the batch first");
  }
}

std::string TransposeLayer::describe() const { return "order " + list({order_.begin(), order_.end()}); }

Shape TransposeLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = of_rank(order_.size(), type(), only_input(inputs));
  Sizes dims;
  for (const int from : order_) dims.push_back(x[from]);
  return Shape(dims);
}

std::vector<StridedCopy> TransposeLayer::copies(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  const Sizes from = strides_of(inputs[0]), to = strides_of(y);
  StridedCopy copy;
  for (int i = 0; i < y.rank(); ++i)
    copy.places.append(y[i], from[static_cast<size_t>(order_[static_cast<size_t>(i)])],
                       to[static_cast<size_t>(i)]);
  return {copy};
}

PadLayer::PadLayer(std::vector<int64_t> before, std::vector<int64_t> after, float value)
    : before_(std::move(before)), after_(std::move(after)), value_(value) {
  if (before_.empty() || before_.size() != after_.size() || before_[0] != 0 || after_[0] != 0)
    throw DataError("pad expected a size before and after each dimension, and none for the batch");
}

std::string PadLayer::describe() const {
  return concat("by ", value_, ", before ", list(before_), ", after ", list(after_));
}

Shape PadLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = of_rank(before_.size(), type(), only_input(inputs));
  Sizes dims;
  for (size_t i = 0; i < before_.size(); ++i) {
    dims.push_back(x[static_cast<int>(i)] + before_[i] + after_[i]);
    const int64_t kept =
        x[static_cast<int>(i)] + std::min<int64_t>(before_[i], 0) + std::min<int64_t>(after_[i], 0);
    if (dims.back() < 1 || kept < 1) throw DataError(concat("pad leaves nothing of ", x.to_string()));
  }
  return Shape(dims);
}

std::vector<StridedCopy> PadLayer::copies(const std::vector<Shape>& inputs) const {
  const Shape& x = inputs[0];
  const Sizes from = strides_of(x), to = strides_of(infer_shape(inputs));
  StridedCopy copy;
  for (size_t i = 0; i < before_.size(); ++i) {
    const int64_t cut = std::max<int64_t>(-before_[i], 0), after = std::max<int64_t>(-after_[i], 0);
    copy.places.append(x[static_cast<int>(i)] - cut - after, from[i], to[i]);
    copy.x_first += cut * from[i];
    copy.y_first += std::max<int64_t>(before_[i], 0) * to[i];
  }
  return {copy};
}

SliceLayer::SliceLayer(std::vector<int64_t> starts, std::vector<int64_t> steps, std::vector<int64_t> counts)
    : starts_(std::move(starts)), steps_(std::move(steps)), counts_(std::move(counts)) {
  if (starts_.empty() || starts_.size() != steps_.size() || starts_.size() != counts_.size() ||
      starts_[0] != 0 || steps_[0] != 1)
    throw DataError("slice expected a start, a step and a count for each dimension, and all of the batch");
}

std::string SliceLayer::describe() const { return concat("from ", list(starts_), ", step ", list(steps_)); }

Shape SliceLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = of_rank(starts_.size(), type(), only_input(inputs));
  Sizes dims = counts_;
  dims[0] = x[0];
  for (size_t i = 1; i < dims.size(); ++i) {
    const int64_t last = starts_[i] + (dims[i] - 1) * steps_[i], size = x[static_cast<int>(i)];
    if (dims[i] < 1 || starts_[i] < 0 || starts_[i] >= size || last < 0 || last >= size)
      throw DataError(
          concat("slice ", describe(), " of ", list(counts_), " values does not fit ", x.to_string()));
  }
  return Shape(dims);
}

std::vector<StridedCopy> SliceLayer::copies(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  const Sizes from = strides_of(inputs[0]), to = strides_of(y);
  StridedCopy copy;
  for (size_t i = 0; i < starts_.size(); ++i) {
    copy.places.append(y[static_cast<int>(i)], from[i] * steps_[i], to[i]);
    copy.x_first += starts_[i] * from[i];
  }
  return {copy};
}

ConcatLayer::ConcatLayer(int axis) : axis_(axis) {
  if (axis < 1 || axis >= Shape::kMaxRank)
    throw DataError(concat("concat expected a dimension after the batch, found ", axis));
}

std::string ConcatLayer::describe() const { return concat("in dimension ", axis_); }

Shape ConcatLayer::infer_shape(const std::vector<Shape>& inputs) const {
  if (inputs.empty()) throw DataError("concat has at least one input, found none");
  Sizes dims = inputs[0].dims();
  for (size_t k = 0; k < inputs.size(); ++k) {
    bool fits = inputs[k].rank() == inputs[0].rank() && axis_ < inputs[0].rank();
    for (int i = 0; fits && i < inputs[0].rank(); ++i) fits = i == axis_ || inputs[k][i] == inputs[0][i];
    if (!fits)
      throw DataError(concat("concat in dimension ", axis_, " of ", inputs[0].to_string(), " and ",
                             inputs[k].to_string(), ": the other dimensions must be the same"));
    if (k > 0) dims[static_cast<size_t>(axis_)] += inputs[k][axis_];
  }
  return Shape(dims);
}

std::vector<StridedCopy> ConcatLayer::copies(const std::vector<Shape>& inputs) const {
  const Sizes to = strides_of(infer_shape(inputs));
  std::vector<StridedCopy> copies;
  int64_t before = 0;
  for (const Shape& x : inputs) {
    const Sizes from = strides_of(x);
    StridedCopy copy;
    for (size_t i = 0; i < from.size(); ++i) copy.places.append(x[static_cast<int>(i)], from[i], to[i]);
    copy.y_first = before * to[static_cast<size_t>(axis_)];
    before += x[axis_];
    copies.push_back(copy);
  }
  return copies;
}

}  // namespace lenslet
