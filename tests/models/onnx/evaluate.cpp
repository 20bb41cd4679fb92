#include "tests/models/onnx/evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "models/onnx/read/tensor_values.h"
#include "tests/models/onnx/evaluate_functions.h"

namespace lenslet::test::onnx {
namespace {

using lenslet::onnx::Node;
using Dims = std::vector<int64_t>;

int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

Array array_of(const lenslet::onnx::TensorData& tensor) {
  Array array{tensor.dims, {}};
  if (lenslet::onnx::is_floating(tensor.type)) {
    for (const float value : lenslet::onnx::float_values(tensor, "judge")) array.values.push_back(value);
  } else {
    for (const int64_t value : lenslet::onnx::integer_values(tensor, "judge"))
      array.values.push_back(static_cast<double>(value));
  }
  return array;
}

// Calls visit(index) for every index of `dims` in C order.
void for_each_index(const Dims& dims, const std::function<void(const Dims&)>& visit) {
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < count_of(dims); ++i) {
    visit(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

double at(const Array& array, const Dims& index) {
  int64_t place = 0;
  for (size_t d = 0; d < index.size(); ++d) place = place * array.dims[d] + index[d];
  return array.values.at(static_cast<size_t>(place));
}

// NumPy's broadcasting: missing dimensions stand in front, and a size of 1 repeats.
double broadcast_at(const Array& array, const Dims& index) {
  Dims own(index.end() - static_cast<std::ptrdiff_t>(array.dims.size()), index.end());
  for (size_t d = 0; d < own.size(); ++d)
    if (array.dims[d] == 1) own[d] = 0;
  return at(array, own);
}

Dims integers_of(const Array& array) {
  Dims integers;
  constexpr double kMaxInteger = 0x1p62;  // the largest number, "to the end", has no double of its own
  for (const double value : array.values)
    integers.push_back(static_cast<int64_t>(std::clamp(value, -kMaxInteger, kMaxInteger)));
  return integers;
}

class Evaluation {
 public:
  Evaluation(const lenslet::onnx::Model& model, const Array& input) : model_(model) {
    for (const auto& [name, tensor] : model.initializers) {
      values_[name] = array_of(tensor);
      if (!lenslet::onnx::is_floating(tensor.type)) integers_.insert(name);
    }
    values_[model.inputs.at(0).name] = input;
  }

  std::map<std::string, Array> run() {
    for (const Node& node : model_.nodes) {
      if (node.op == "Split") {
        split(node);
        continue;
      }
      values_[node.outputs.at(0)] = compute(node);
      if (makes_integers(node)) integers_.insert(node.outputs.at(0));
    }
    return std::move(values_);
  }

 private:
  bool makes_integers(const Node& node) const {
    if (node.op == "Shape" || node.find("value_int") || node.find("value_ints")) return true;
    const bool states = node.op == "Constant" || node.op == "ConstantOfShape";
    if (const auto* value = states ? node.find("value") : nullptr)
      return !lenslet::onnx::is_floating(value->tensor->type);
    if (node.op == "Cast") return node.integer_or("to", 0) == 6 || node.integer_or("to", 0) == 7;
    return !node.inputs.empty() && integers_.count(node.inputs[0]) != 0;
  }

  bool has(const Node& node, size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  const Array& input(const Node& node, size_t i = 0) const { return values_.at(node.inputs.at(i)); }

  Array each(const Node& node, const std::function<double(double)>& f) const {
    Array y = input(node);
    for (double& value : y.values) value = f(value);
    return y;
  }

  Array pairwise(const Node& node, const std::function<double(double, double)>& f) const {
    Array result = input(node);
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Array a = result;
      const Array& b = input(node, i);
      Dims dims(std::max(a.dims.size(), b.dims.size()), 1);
      for (const Array* x : {&a, &b})
        for (size_t d = 0; d < x->dims.size(); ++d) {
          int64_t& dim = dims[dims.size() - x->dims.size() + d];
          dim = std::max(dim, x->dims[d]);
        }
      result = {dims, {}};
      for_each_index(dims, [&](const Dims& index) {
        result.values.push_back(f(broadcast_at(a, index), broadcast_at(b, index)));
      });
    }
    return result;
  }

  Array compute(const Node& node) const;
  Array constant(const Node& node) const;
  Array windows(const Node& node) const;
  Array product(const Node& node) const;
  Array products(const Node& node) const;
  Array normalised(const Node& node) const;
  Array lrn(const Node& node) const;
  Array softmax(const Node& node) const;
  Array means(const Node& node) const;
  Array padded(const Node& node) const;
  Array joined(const Node& node) const;
  Array sliced(const Node& node) const;
  Array gathered(const Node& node) const;
  void split(const Node& node);
  Array moved(const Node& node) const;
  Array reshaped(const Node& node) const;

  const lenslet::onnx::Model& model_;
  std::map<std::string, Array> values_;
  std::set<std::string> integers_;  // values of int32 or int64
};

Array Evaluation::constant(const Node& node) const {
  if (const auto* value = node.find("value")) return array_of(*value->tensor);
  if (const auto* real = node.find("value_float")) return {{}, {*real->real}};
  if (const auto* integer = node.find("value_int")) return {{}, {static_cast<double>(*integer->integer)}};
  if (node.find("value_ints")) {
    const Dims integers = node.integers_or("value_ints", {});
    return {{static_cast<int64_t>(integers.size())}, {integers.begin(), integers.end()}};
  }
  throw std::logic_error("the judge has no such Constant");
}

// Convolution and pooling: the kernel's cells are visited one by one, and those outside the input are left out.
Array Evaluation::windows(const Node& node) const {
  const Array& x = input(node);
  const size_t rank = x.dims.size() - 2;
  const bool conv = node.op == "Conv", maximum = node.op == "MaxPool";
  Dims kernel = node.integers_or("kernel_shape", {});
  if (conv) kernel.assign(input(node, 1).dims.begin() + 2, input(node, 1).dims.end());
  const Dims strides = node.integers_or("strides", Dims(rank, 1));
  const Dims dilations = node.integers_or("dilations", Dims(rank, 1));
  Dims pads = node.integers_or("pads", Dims(2 * rank, 0));
  const std::string automatic = node.text_or("auto_pad", "NOTSET");
  const bool ceil = node.integer_or("ceil_mode", 0) != 0;
  Dims dims = {x.dims[0], conv ? input(node, 1).dims[0] : x.dims[1]};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t in = x.dims[d + 2], reach = (kernel[d] - 1) * dilations[d] + 1;
    if (automatic == "VALID") pads[d] = pads[d + rank] = 0;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      int64_t out = in / strides[d] + (in % strides[d] != 0);
      int64_t missing = std::max<int64_t>((out - 1) * strides[d] + reach - in, 0);
      pads[d] = automatic == "SAME_UPPER" ? missing / 2 : missing - missing / 2;
      pads[d + rank] = missing - pads[d];
    }
    // Windows that end inside the padding; with ceil_mode one more, if something after the last one is left and it
    // begins before the padding after the input.
    const int64_t edge = in + pads[d + rank];
    int64_t count = 0, begin = -pads[d], left = edge - begin;
    for (; begin + reach <= edge; begin += strides[d], ++count) left = edge - begin - reach;
    count += ceil && left > 0 && begin < in;
    dims.push_back(count);
  }
  const int64_t groups = conv ? node.integer_or("group", 1) : 1;
  const bool counts_padding = node.integer_or("count_include_pad", 0) != 0;
  Array y{dims, {}};
  for_each_index(dims, [&](const Dims& out) {
    double sum = conv && has(node, 2) ? input(node, 2).values[static_cast<size_t>(out[1])] : 0;
    double largest = -std::numeric_limits<double>::infinity();
    int64_t cells = 0;
    const int64_t per_group = conv ? input(node, 1).dims[1] : 1;
    const int64_t first = conv ? out[1] / (dims[1] / groups) * per_group : out[1];
    for (int64_t c = 0; c < per_group; ++c) {
      for_each_index(kernel, [&](const Dims& cell) {
        Dims from = {out[0], first + c};
        Dims weight = {out[1], c};
        bool inside = true, in_padding = true;
        for (size_t d = 0; d < rank; ++d) {
          const int64_t place = out[d + 2] * strides[d] - pads[d] + cell[d] * dilations[d];
          inside = inside && place >= 0 && place < x.dims[d + 2];
          in_padding = in_padding && place < x.dims[d + 2] + pads[d + rank];
          from.push_back(place);
          weight.push_back(cell[d]);
        }
        cells += inside || (counts_padding && in_padding);
        if (!inside) return;
        sum += at(x, from) * (conv ? at(input(node, 1), weight) : 1);
        largest = std::max(largest, at(x, from));
      });
    }
    y.values.push_back(maximum ? largest : conv ? sum : sum / static_cast<double>(cells));
  });
  return y;
}

Array Evaluation::product(const Node& node) const {
  Array a = input(node), b = input(node, 1);
  const auto turn = [](Array& matrix) {
    Array turned{{matrix.dims[1], matrix.dims[0]}, {}};
    for_each_index(turned.dims, [&](const Dims& i) { turned.values.push_back(at(matrix, {i[1], i[0]})); });
    matrix = turned;
  };
  if (node.integer_or("transA", 0) != 0) turn(a);
  if (node.integer_or("transB", 0) != 0) turn(b);
  Array y{{a.dims.at(0), b.dims.at(1)}, {}};
  for_each_index(y.dims, [&](const Dims& i) {
    double sum = 0;
    for (int64_t k = 0; k < a.dims[1]; ++k) sum += at(a, {i[0], k}) * at(b, {k, i[1]});
    sum *= node.real_or("alpha", 1);
    if (has(node, 2)) sum += node.real_or("beta", 1) * broadcast_at(input(node, 2), i);
    y.values.push_back(sum);
  });
  return y;
}

// Matrix products of the last two dimensions; those in front are broadcast.
Array Evaluation::products(const Node& node) const {
  const Array &a = input(node), &b = input(node, 1);
  const size_t rank = std::max(a.dims.size(), b.dims.size());
  const auto dim = [rank](const Array& x, size_t d) {
    const size_t missing = rank - x.dims.size();
    return d < missing ? 1 : x.dims[d - missing];
  };
  Array y;
  for (size_t d = 0; d + 2 < rank; ++d) y.dims.push_back(std::max(dim(a, d), dim(b, d)));
  y.dims.push_back(dim(a, rank - 2));
  y.dims.push_back(dim(b, rank - 1));
  for_each_index(y.dims, [&](const Dims& i) {
    Dims left = i, right = i;
    double sum = 0;
    for (int64_t k = 0; k < dim(a, rank - 1); ++k) {
      left[rank - 1] = right[rank - 2] = k;
      sum += broadcast_at(a, left) * broadcast_at(b, right);
    }
    y.values.push_back(sum);
  });
  return y;
}

Array Evaluation::normalised(const Node& node) const {
  Array y{input(node).dims, {}};
  for_each_index(y.dims, [&](const Dims& i) {
    const auto of = [&](size_t k) { return input(node, k).values[static_cast<size_t>(i[1])]; };
    y.values.push_back(
        (at(input(node), i) - of(3)) / std::sqrt(of(4) + node.real_or("epsilon", 1e-5f)) * of(1) + of(2));
  });
  return y;
}

Array Evaluation::lrn(const Node& node) const {
  const Array& x = input(node);
  const int64_t size = node.integer_or("size", 0);
  Array y{x.dims, {}};
  for_each_index(x.dims, [&](const Dims& i) {
    double sum = 0;
    for (int64_t c = i[1] - (size - 1) / 2; c <= i[1] + size / 2; ++c) {
      Dims from = i;
      from[1] = c;
      if (c >= 0 && c < x.dims[1]) sum += at(x, from) * at(x, from);
    }
    const double scale = node.real_or("alpha", 1e-4f) / static_cast<double>(size);
    y.values.push_back(at(x, i) /
                       std::pow(node.real_or("bias", 1) + scale * sum, node.real_or("beta", 0.75f)));
  });
  return y;
}

Array Evaluation::softmax(const Node& node) const {
  Array y = input(node);
  const bool old = model_.opset < 13;
  const auto rank = static_cast<int64_t>(y.dims.size());
  int64_t axis = node.integer_or("axis", old ? 1 : -1);
  if (axis < 0) axis += rank;
  // A row has all dimensions from the axis on in an old operator set, else the axis.
  const auto row_of = [&](Dims index) {
    for (int64_t d = axis; d < (old ? rank : axis + 1); ++d) index[static_cast<size_t>(d)] = 0;
    return index;
  };
  std::map<Dims, double> largest, sums;
  for_each_index(y.dims, [&](const Dims& i) {
    double& max_value = largest.emplace(row_of(i), at(y, i)).first->second;
    max_value = std::max(max_value, at(y, i));
  });
  for_each_index(y.dims, [&](const Dims& i) { sums[row_of(i)] += std::exp(at(y, i) - largest[row_of(i)]); });
  Array result{y.dims, {}};
  for_each_index(y.dims, [&](const Dims& i) {
    const double value = at(y, i) - largest[row_of(i)], sum = sums[row_of(i)];
    result.values.push_back(node.op == "Softmax" ? std::exp(value) / sum : value - std::log(sum));
  });
  return result;
}

Array Evaluation::means(const Node& node) const {
  const Array& x = input(node);
  Dims axes = node.integers_or("axes", {});
  if (has(node, 1)) axes = integers_of(input(node, 1));
  const bool global = node.op != "ReduceMean" && node.op != "ReduceMax";
  if (global)
    for (size_t d = 2; d < x.dims.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  for (int64_t& axis : axes) axis = axis < 0 ? axis + static_cast<int64_t>(x.dims.size()) : axis;
  const auto reduced = [&](size_t d) {
    return std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
  };
  Dims kept = x.dims;
  for (size_t d = 0; d < kept.size(); ++d)
    if (reduced(d)) kept[d] = 1;
  const double cells = static_cast<double>(count_of(x.dims) / count_of(kept));
  const bool maximum = node.op == "GlobalMaxPool" || node.op == "ReduceMax";
  Array y{kept, std::vector<double>(static_cast<size_t>(count_of(kept)), maximum ? -INFINITY : 0)};
  for_each_index(x.dims, [&](const Dims& index) {
    int64_t place = 0;
    for (size_t d = 0; d < kept.size(); ++d) place = place * kept[d] + (kept[d] == 1 ? 0 : index[d]);
    double& value = y.values[static_cast<size_t>(place)];
    value = maximum ? std::max(value, at(x, index)) : value + at(x, index) / cells;
  });
  if (!global && node.integer_or("keepdims", 1) == 0) {
    y.dims.clear();
    for (size_t d = 0; d < kept.size(); ++d)
      if (!reduced(d)) y.dims.push_back(kept[d]);
  }
  return y;
}

Array Evaluation::padded(const Node& node) const {
  const Array& x = input(node);
  Dims pads = node.integers_or("pads", {});
  if (has(node, 1)) pads = integers_of(input(node, 1));
  const double value =
      has(node, 2) && !input(node, 2).values.empty() ? input(node, 2).values[0] : node.real_or("value", 0);
  if (has(node, 3)) {
    const Dims axes = integers_of(input(node, 3)), given = pads;
    pads.assign(2 * x.dims.size(), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t axis =
          axes[i] < 0 ? x.dims.size() - static_cast<size_t>(-axes[i]) : static_cast<size_t>(axes[i]);
      pads[axis] = given[i];
      pads[x.dims.size() + axis] = given[axes.size() + i];
    }
  }
  Array y{x.dims, {}};
  for (size_t d = 0; d < y.dims.size(); ++d) y.dims[d] += pads[d] + pads[d + y.dims.size()];
  for_each_index(y.dims, [&](const Dims& index) {
    Dims from = index;
    bool inside = true;
    for (size_t d = 0; d < from.size(); ++d) {
      from[d] -= pads[d];
      inside = inside && from[d] >= 0 && from[d] < x.dims[d];
    }
    y.values.push_back(inside ? at(x, from) : value);
  });
  return y;
}

Array Evaluation::joined(const Node& node) const {
  const auto rank = static_cast<int64_t>(input(node).dims.size());
  const int64_t stated = node.integer_or("axis", 0);
  const auto axis = static_cast<size_t>(stated < 0 ? stated + rank : stated);
  Array y{input(node).dims, {}};
  for (size_t i = 1; i < node.inputs.size(); ++i) y.dims[axis] += input(node, i).dims[axis];
  for_each_index(y.dims, [&](const Dims& index) {
    Dims from = index;
    size_t which = 0;
    while (from[axis] >= input(node, which).dims[axis]) from[axis] -= input(node, which++).dims[axis];
    y.values.push_back(at(input(node, which), from));
  });
  return y;
}

// Python's slices, axis after axis: the indices of range(start, stop, step) that lie inside.
Array Evaluation::sliced(const Node& node) const {
  Array y = input(node);
  const auto list = [&](const char* attribute, size_t i, const Dims& fallback) {
    if (node.find(attribute)) return node.integers_or(attribute, {});
    return has(node, i) ? integers_of(input(node, i)) : fallback;
  };
  const Dims starts = list("starts", 1, {}), stops = list("ends", 2, {});
  Dims all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const Dims axes = list("axes", 3, all), steps = list("steps", 4, Dims(starts.size(), 1));
  for (size_t k = 0; k < starts.size(); ++k) {
    const Array x = y;
    const auto axis =
        static_cast<size_t>(axes[k] < 0 ? axes[k] + static_cast<int64_t>(x.dims.size()) : axes[k]);
    const int64_t size = x.dims[axis];
    Dims taken;
    int64_t start = starts[k] < 0 ? starts[k] + size : starts[k];
    if (steps[k] < 0) start = std::clamp<int64_t>(start, 0, size - 1);  // as ONNX has it, unlike Python
    const int64_t stop = stops[k] < 0 ? stops[k] + size : stops[k];
    for (int64_t i = start; steps[k] > 0 ? i < std::min(stop, size) : i > std::max<int64_t>(stop, -1);
         i += steps[k])
      if (i >= 0) taken.push_back(i);
    y = {x.dims, {}};
    y.dims[axis] = static_cast<int64_t>(taken.size());
    for_each_index(y.dims, [&](Dims index) {
      index[axis] = taken[static_cast<size_t>(index[axis])];
      y.values.push_back(at(x, index));
    });
  }
  return y;
}

Array Evaluation::gathered(const Node& node) const {
  const Array &x = input(node), &indices = input(node, 1);
  const auto rank = static_cast<int64_t>(x.dims.size());
  const int64_t stated = node.integer_or("axis", 0);
  const auto axis = static_cast<size_t>(stated < 0 ? stated + rank : stated);
  const auto place = static_cast<std::ptrdiff_t>(axis);
  Array y{x.dims, {}};
  y.dims.erase(y.dims.begin() + place);
  y.dims.insert(y.dims.begin() + place, indices.dims.begin(), indices.dims.end());
  const auto width = static_cast<std::ptrdiff_t>(indices.dims.size());
  for_each_index(y.dims, [&](const Dims& index) {
    const Dims which(index.begin() + place, index.begin() + place + width);
    Dims from(index.begin(), index.begin() + place);
    const auto taken = static_cast<int64_t>(at(indices, which));
    from.push_back(taken < 0 ? taken + x.dims[axis] : taken);
    from.insert(from.end(), index.begin() + place + width, index.end());
    y.values.push_back(at(x, from));
  });
  return y;
}

void Evaluation::split(const Node& node) {
  const Array x = input(node);
  const auto rank = static_cast<int64_t>(x.dims.size());
  const int64_t stated = node.integer_or("axis", 0);
  const auto axis = static_cast<size_t>(stated < 0 ? stated + rank : stated);
  Dims parts = node.integers_or("split", {});
  if (has(node, 1)) parts = integers_of(input(node, 1));
  int64_t from = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const auto count = static_cast<int64_t>(node.outputs.size());
    const int64_t each = (x.dims[axis] + count - 1) / count;
    Array y{x.dims, {}};
    y.dims[axis] = parts.empty() ? std::min(each, x.dims[axis] - from) : parts[i];
    for_each_index(y.dims, [&](Dims index) {
      index[axis] += from;
      y.values.push_back(at(x, index));
    });
    from += y.dims[axis];
    values_[node.outputs[i]] = y;
  }
}

Array Evaluation::moved(const Node& node) const {
  const Array& x = input(node);
  Dims order;
  for (size_t d = x.dims.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
  order = node.integers_or("perm", order);
  Array y;
  for (const int64_t axis : order) y.dims.push_back(x.dims[static_cast<size_t>(axis)]);
  for_each_index(y.dims, [&](const Dims& index) {
    Dims from(index.size());
    for (size_t d = 0; d < index.size(); ++d) from[static_cast<size_t>(order[d])] = index[d];
    y.values.push_back(at(x, from));
  });
  return y;
}

Array Evaluation::reshaped(const Node& node) const {
  Array y = input(node);
  const Dims before = y.dims;
  if (node.op == "Flatten") {
    const auto axis = static_cast<size_t>(node.integer_or("axis", 1));
    const int64_t outer = count_of(Dims(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(axis)));
    y.dims = {outer, count_of(before) / outer};
  } else if (node.op == "Reshape") {
    y.dims = integers_of(input(node, 1));
    int64_t known = 1;
    for (size_t d = 0; d < y.dims.size(); ++d) {
      if (y.dims[d] == 0) y.dims[d] = before[d];
      if (y.dims[d] > 0) known *= y.dims[d];
    }
    // A model with a frozen batch of 1 is run with a larger batch: its first size is free.
    if (std::count(y.dims.begin(), y.dims.end(), -1) == 0 && known != count_of(before)) y.dims[0] = before[0];
    known = 1;
    for (const int64_t dim : y.dims) known *= std::max<int64_t>(dim, 1);
    for (int64_t& dim : y.dims)
      if (dim == -1) dim = count_of(before) / known;
  } else if (node.op == "Squeeze" || node.op == "Unsqueeze") {
    Dims axes = node.integers_or("axes", {});
    if (has(node, 1)) axes = integers_of(input(node, 1));
    const int64_t rank = static_cast<int64_t>(before.size()) +
                         (node.op == "Unsqueeze" ? static_cast<int64_t>(axes.size()) : 0);
    y.dims.clear();
    size_t from = 0;
    for (int64_t d = 0; d < rank; ++d) {
      const bool named =
          std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return a == d || a + rank == d; });
      if (node.op == "Unsqueeze") {
        y.dims.push_back(named ? 1 : before[from++]);
      } else if (!named) {
        y.dims.push_back(before[static_cast<size_t>(d)]);
      }
    }
  }
  return y;
}

Array Evaluation::compute(const Node& node) const {
  const std::string& op = node.op;
  if (op == "Constant") return constant(node);
  if (op == "Conv" || op == "MaxPool" || op == "AveragePool") return windows(node);
  if (op == "Gemm") return product(node);
  if (op == "MatMul") return products(node);
  if (op == "BatchNormalization") return normalised(node);
  if (op == "Softmax" || op == "LogSoftmax") return softmax(node);
  if (op == "GlobalAveragePool" || op == "GlobalMaxPool" || op == "ReduceMean" || op == "ReduceMax")
    return means(node);
  if (op == "Pad") return padded(node);
  if (op == "Concat") return joined(node);
  if (op == "LRN") return lrn(node);
  if (op == "Slice") return sliced(node);
  if (op == "Gather") return gathered(node);
  if (op == "ConstantOfShape") {
    const auto* value = node.find("value");
    Array y{integers_of(input(node)), {}};
    y.values.assign(static_cast<size_t>(count_of(y.dims)), value ? array_of(*value->tensor).values.at(0) : 0);
    return y;
  }
  if (op == "Shape")
    return {{static_cast<int64_t>(input(node).dims.size())},
            {input(node).dims.begin(), input(node).dims.end()}};
  if (op == "Transpose") return moved(node);
  if (op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze") return reshaped(node);
  if (op == "Identity" || op == "Dropout") return input(node);
  if (op == "Cast") {
    Array values = input(node);
    const int64_t to = node.integer_or("to", 0);
    if (to == 6 || to == 7)  // int32, int64
      for (double& value : values.values) value = std::trunc(value);
    return values;
  }
  if (op == "Mean") {
    Array mean = pairwise(node, [](double a, double b) { return a + b; });
    for (double& value : mean.values) value /= static_cast<double>(node.inputs.size());
    return mean;
  }
  if (op == "Add" || op == "Sum") return pairwise(node, [](double a, double b) { return a + b; });
  if (op == "Sub") return pairwise(node, [](double a, double b) { return a - b; });
  if (op == "Mul") return pairwise(node, [](double a, double b) { return a * b; });
  if (op == "Div") {
    const bool whole = integers_.count(node.inputs.at(0)) != 0;
    return pairwise(node, [whole](double a, double b) { return whole ? std::trunc(a / b) : a / b; });
  }
  if (op == "Max") return pairwise(node, [](double a, double b) { return std::max(a, b); });
  if (op == "Min") return pairwise(node, [](double a, double b) { return std::min(a, b); });
  if (op == "Greater") return pairwise(node, [](double a, double b) { return a > b ? 1.0 : 0.0; });
  if (op == "Where") {  // of one shape
    Array y = input(node, 1);
    for (size_t i = 0; i < y.values.size(); ++i)
      if (input(node).values.at(i) == 0) y.values[i] = input(node, 2).values.at(i);
    return y;
  }
  if (op == "Pow") return pairwise(node, [](double a, double b) { return std::pow(a, b); });
  if (op == "PRelu" && model_.opset < 7 && input(node, 1).dims.size() == 1) {
    Array y{input(node).dims, {}};
    for_each_index(y.dims, [&](const Dims& i) {
      const double x = at(input(node), i), slope = input(node, 1).values[static_cast<size_t>(i[1])];
      y.values.push_back(x < 0 ? slope * x : x);
    });
    return y;
  }
  if (op == "PRelu") return pairwise(node, [](double a, double b) { return a < 0 ? a * b : a; });
  if (const std::function<double(double)> function = function_of(node)) return each(node, function);
  if (op == "Clip") {
    double low = node.real_or("min", -INFINITY), high = node.real_or("max", INFINITY);
    if (has(node, 1)) low = input(node, 1).values.at(0);
    if (has(node, 2)) high = input(node, 2).values.at(0);
    return each(node, [&](double x) { return std::min(std::max(x, low), high); });
  }
  throw std::logic_error("the judge has no operator " + op);
}

}  // namespace

std::map<std::string, Array> evaluate(const lenslet::onnx::Model& model, const Array& input) {
  return Evaluation(model, input).run();
}

}  // namespace lenslet::test::onnx
