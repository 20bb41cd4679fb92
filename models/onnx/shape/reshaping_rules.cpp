// Shapes of operators that move values, and of those that exporters use to compute shapes.

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "models/onnx/read/tensor_values.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {
namespace {

using Dims = std::vector<int64_t>;
constexpr size_t kMaxJoined = 64;  // whole numbers; a shape has eight

// The whole numbers of input 0 keep their order.
void set_moved(Inference& node, const Dims& dims) {
  if (node.input(0).integers) {
    node.set(dims, Dims(*node.input(0).integers));
  } else {
    node.set(dims);
  }
}

// Sets the output's shape, and the whole numbers of input 0, if they are known: the value at index [i, j, …] of the
// output is that at index begin[0] + i * step[0], … of the input, in the order of the input's axes `from`.
struct Walk {
  Dims from, begin, step;  // by axis of the output
};

void set_picked(Inference& node, const Dims& dims, const Walk& walk) {
  const Shape x = node.shape(0);
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  if (!node.input(0).integers || count > static_cast<int64_t>(kMaxJoined)) return node.set(dims);
  Dims strides(static_cast<size_t>(x.rank()), 1), picked;
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * x[static_cast<int>(d)];
  Dims index(dims.size(), 0);
  for (int64_t k = 0; k < count; ++k) {
    int64_t place = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      place += (walk.begin[d] + index[d] * walk.step[d]) * strides[static_cast<size_t>(walk.from[d])];
    picked.push_back((*node.input(0).integers)[static_cast<size_t>(place)]);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];) index[d] = 0;
  }
  node.set(dims, std::move(picked));
}

void flatten(Inference& node) {
  const Shape& x = node.shape(0);
  const int64_t stated = node.node().integer_or("axis", 1);
  const int axis = stated == x.rank() ? x.rank() : node.axis(stated, x.rank());
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= x[i];
  int64_t inner = 1;
  for (int i = axis; i < x.rank(); ++i) inner *= x[i];
  node.set({outer, inner});
}

void reshape(Inference& node) {
  const Shape x = node.shape(0);
  const bool keeps_zero = node.node().integer_or("allowzero", 0) != 0;
  Dims dims = node.attribute_or_input("shape", 1, {});
  int64_t known = 1;
  int free = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !keeps_zero) {
      if (static_cast<int>(i) >= x.rank()) node.fail("its shape copies a dimension that the input lacks");
      dims[i] = x[static_cast<int>(i)];
    }
    if (dims[i] == -1) {
      if (free >= 0) node.fail("its shape has two free dimensions");
      free = static_cast<int>(i);
    } else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known)) {
      node.fail(concat("its shape has a size of ", dims[i]));
    }
  }
  if (free >= 0) {
    if (known == 0 || x.num_elements() % known != 0)
      node.fail(concat("an input of ", x.to_string(), " cannot take its shape"));
    dims[static_cast<size_t>(free)] = x.num_elements() / known;
  } else if (known != x.num_elements()) {
    node.fail(concat("an input of ", x.to_string(), " cannot take a shape of ", known, " values"));
  }
  set_moved(node, dims);
}

void transpose(Inference& node) {
  const Shape& x = node.shape(0);
  Dims order(static_cast<size_t>(x.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  order = node.node().integers_or("perm", order);
  node.check_integers(order, static_cast<size_t>(x.rank()), 0, x.rank() - 1, "perm");
  Dims dims, sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) node.fail("perm names an axis twice");
  for (const int64_t from : order) dims.push_back(x[static_cast<int>(from)]);
  set_picked(node, dims, {order, Dims(order.size(), 0), Dims(order.size(), 1)});
}

void concatenate(Inference& node) {
  Dims dims = node.shape(0).dims(), integers;
  const int rank = static_cast<int>(dims.size());
  const int axis = node.axis(node.node().integer_or("axis", 0), rank);
  bool known = rank == 1;
  for (size_t i = 0; i < node.node().inputs.size(); ++i) {
    const Shape& x = node.shape(i);
    if (x.rank() != rank) node.fail("its inputs have different ranks");
    for (int d = 0; d < rank; ++d)
      if (d != axis && x[d] != dims[static_cast<size_t>(d)])
        node.fail("its inputs differ in another dimension");
    if (i > 0) dims[static_cast<size_t>(axis)] += x[axis];  // each below 2^31, at most 100,000 of them
    known = known && node.input(i).integers && integers.size() <= kMaxJoined;
    if (known) integers.insert(integers.end(), node.integers(i).begin(), node.integers(i).end());
  }
  if (known) {
    node.set(dims, std::move(integers));
  } else {
    node.set(dims);
  }
}

void pad(Inference& node) {
  const Shape& x = node.shape(0);
  Dims dims = x.dims(), axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (node.has(3)) axes = node.integers(3);
  Dims pads = node.attribute_or_input("pads", 1, {});
  node.check_integers(pads, 2 * axes.size(), -(1 << 20), 1 << 20, "pads");
  std::vector<bool> seen(dims.size(), false);
  for (const int64_t stated : axes) {
    const auto axis = static_cast<size_t>(node.axis(stated, x.rank()));
    if (seen[axis]) node.fail(concat("it pads axis ", axis, " twice"));
    seen[axis] = true;
  }
  pads = pads_of_all(pads, axes, x.rank());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] += pads[i] + pads[i + dims.size()];
  node.set(dims);
}

void shape_of(Inference& node) {
  const Dims all = node.shape(0).dims();
  const auto rank = static_cast<int64_t>(all.size());
  const auto bound = [rank](int64_t at) { return std::clamp<int64_t>(from_front(at, rank), 0, rank); };
  const int64_t start = bound(node.node().integer_or("start", 0));
  const int64_t end = std::max(start, bound(node.node().integer_or("end", rank)));
  node.set({end - start}, Dims(all.begin() + start, all.begin() + end));
}

void gather(Inference& node) {
  const Shape &x = node.shape(0), &indices = node.shape(1);
  if (x.rank() < 1) node.fail("it gathers from a scalar");
  const int axis = node.axis(node.node().integer_or("axis", 0), x.rank());
  Dims dims;
  for (int i = 0; i < axis; ++i) dims.push_back(x[i]);
  for (int i = 0; i < indices.rank(); ++i) dims.push_back(indices[i]);
  for (int i = axis + 1; i < x.rank(); ++i) dims.push_back(x[i]);
  if (x.rank() != 1 || !node.input(0).integers || !node.input(1).integers) return node.set(dims);
  Dims integers;
  for (const int64_t index : node.integers(1))
    integers.push_back(node.integers(0)[static_cast<size_t>(node.axis(index, static_cast<int>(x[0])))]);
  node.set(dims, std::move(integers));
}

void unsqueeze(Inference& node) {
  const Shape& x = node.shape(0);
  const Dims axes = node.attribute_or_input("axes", 1, {});
  if (x.rank() + axes.size() > Shape::kMaxRank)
    node.fail(concat("more than ", Shape::kMaxRank, " dimensions"));
  const int rank = x.rank() + static_cast<int>(axes.size());
  Dims dims(static_cast<size_t>(rank), 0);
  for (const int64_t each : axes) {
    int64_t& dim = dims[static_cast<size_t>(node.axis(each, rank))];
    if (dim == -1) node.fail("axes names an axis twice");
    dim = -1;
  }
  int from = 0;
  for (int64_t& dim : dims) dim = dim == -1 ? 1 : x[from++];
  set_moved(node, dims);
}

void squeeze(Inference& node) {
  const Shape& x = node.shape(0);
  Dims axes = node.attribute_or_input("axes", 1, {});
  const bool all = axes.empty();
  for (int64_t& axis : axes) axis = node.axis(axis, x.rank());
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && x[i] != 1) node.fail(concat("axis ", i, " has size ", x[i], ", expected 1"));
    if (!(named || (all && x[i] == 1))) dims.push_back(x[i]);
  }
  set_moved(node, dims);
}

void slice(Inference& node) {
  const Shape& x = node.shape(0);
  const Dims starts = node.attribute_or_input("starts", 1, {}), ends = node.attribute_or_input("ends", 2, {});
  Dims axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.attribute_or_input("axes", 3, axes);
  const Dims steps = node.has(4) ? node.integers(4) : Dims(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size())
    node.fail("starts, ends and axes have different lengths");
  node.check_integers(steps, starts.size(), -(1 << 30), 1 << 30, "steps");
  Dims dims = x.dims();
  Walk walk{Dims(dims.size()), Dims(dims.size(), 0), Dims(dims.size(), 1)};
  std::iota(walk.from.begin(), walk.from.end(), 0);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = node.axis(axes[i], x.rank());
    const int64_t size = x[axis], step = steps[i];
    if (step == 0) node.fail("a step of 0");
    const auto place = [&](int64_t at, int64_t min_place) {
      const int64_t max_place = step > 0 ? size : size - 1;
      return std::clamp<int64_t>(from_front(at, size), std::min(min_place, max_place), max_place);
    };
    // In a backward slice a start before the front means the first value, and such an end includes the first value.
    const int64_t start = place(starts[i], 0), end = place(ends[i], step > 0 ? 0 : -1);
    const int64_t span = step > 0 ? end - start : start - end, pace = step > 0 ? step : -step;
    const int64_t count = span <= 0 ? 0 : ceil_div(span, pace);
    dims[static_cast<size_t>(axis)] = count;
    walk.begin[static_cast<size_t>(axis)] = start;
    walk.step[static_cast<size_t>(axis)] = step;
  }
  set_picked(node, dims, walk);
}

void constant_of_shape(Inference& node) {
  const Dims dims = node.integers(0);
  node.set(dims);  // refuses sizes that overflow
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  const Attribute* const value = node.node().find("value");
  if (!value || !value->tensor || is_floating(value->tensor->type) || value->tensor->count != 1) return;
  if (count <= static_cast<int64_t>(kMaxJoined))
    node.set(dims, Dims(static_cast<size_t>(count), integer_values(*value->tensor, node.node().name)[0]));
}

void split(Inference& node) {
  const Shape x = node.shape(0);
  const int axis = node.axis(node.node().integer_or("axis", 0), x.rank());
  const size_t count = node.node().outputs.size();
  const int64_t size = x[axis], each = ceil_div(size, static_cast<int64_t>(count));
  Dims parts(count, each);
  parts.back() = size - each * (static_cast<int64_t>(count) - 1);
  parts = node.attribute_or_input("split", 1, parts);
  node.check_integers(parts, count, 0, size, "split");
  if (std::accumulate(parts.begin(), parts.end(), int64_t{0}) != size)
    node.fail(concat("its parts do not sum up to ", size));
  Dims dims = x.dims();
  for (size_t i = 0; i < count; ++i) {
    dims[static_cast<size_t>(axis)] = parts[i];
    if (!node.node().outputs[i].empty()) node.set_output(i, dims);
  }
}

void reduce(Inference& node) {
  const Shape& x = node.shape(0);
  Dims axes = node.attribute_or_input("axes", 1, {});
  const bool keeps = node.node().integer_or("keepdims", 1) != 0;
  const bool all = axes.empty() && node.node().integer_or("noop_with_empty_axes", 0) == 0;
  for (int64_t& axis : axes) axis = node.axis(axis, x.rank());
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    const bool reduced = all || std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) dims.push_back(x[i]);
    if (reduced && keeps) dims.push_back(1);
  }
  node.set(dims);
}

}  // namespace

Dims pads_of_all(const Dims& pads, const Dims& axes, int rank) {
  Dims all(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(from_front(axes[i], rank));
    all[axis] = pads[i];
    all[axis + static_cast<size_t>(rank)] = pads[i + axes.size()];
  }
  return all;
}

ShapeRule reshaping_rule(const std::string& op) {
  static const std::vector<std::pair<const char*, ShapeRule>> rules = {{"Flatten", flatten},
                                                                       {"Reshape", reshape},
                                                                       {"Transpose", transpose},
                                                                       {"Concat", concatenate},
                                                                       {"Pad", pad},
                                                                       {"Shape", shape_of},
                                                                       {"Gather", gather},
                                                                       {"Unsqueeze", unsqueeze},
                                                                       {"Squeeze", squeeze},
                                                                       {"Slice", slice},
                                                                       {"ConstantOfShape", constant_of_shape},
                                                                       {"Split", split},
                                                                       {"ReduceMean", reduce},
                                                                       {"ReduceMax", reduce}};
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const auto& rule) { return rule.first == op; });
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace lenslet::onnx
