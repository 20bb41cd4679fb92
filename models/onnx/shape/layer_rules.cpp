// Shapes of convolutions, pooling, matrix products and operators that work element by element.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {
namespace {

constexpr int64_t kMaxOfWindow = 1 << 20;  // of strides, padding and dilation; no overflow can follow

// (in + padding - dilation * (kernel - 1) - 1) / stride + 1 in every spatial dimension.
std::vector<int64_t> windows(const Inference& node, const Shape& x, const std::vector<int64_t>& kernel) {
  const size_t rank = static_cast<size_t>(x.rank()) - 2;
  const std::vector<int64_t> ones(rank, 1);
  const auto strides = node.node().integers_or("strides", ones);
  const auto dilations = node.node().integers_or("dilations", ones);
  const auto pads = node.node().integers_or("pads", std::vector<int64_t>(2 * rank, 0));
  node.check_integers(kernel, rank, 1, kMaxOfWindow, "kernel_shape");
  node.check_integers(strides, rank, 1, kMaxOfWindow, "strides");
  node.check_integers(dilations, rank, 1, kMaxOfWindow, "dilations");
  node.check_integers(pads, 2 * rank, 0, kMaxOfWindow, "pads");
  const std::string automatic = node.node().text_or("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER", valid = automatic == "VALID";
  const bool ceil = node.node().integer_or("ceil_mode", 0) != 0;
  std::vector<int64_t> out;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t in = x[static_cast<int>(i) + 2], stride = strides[i];
    if (same) {
      out.push_back(ceil_div(in, stride));
      continue;
    }
    const int64_t begin = valid ? 0 : pads[i], end = valid ? 0 : pads[i + rank];
    const int64_t span = in + begin + end - dilations[i] * (kernel[i] - 1) - 1;
    if (span < 0 && !(ceil && span > -stride))
      node.fail(concat("its window of ", dilations[i] * (kernel[i] - 1) + 1,
                       " is larger than the padded input of ", in + begin + end));
    int64_t count = (span + (ceil ? stride - 1 : 0)) / stride + 1;  // 1 for a window that only `ceil` admits
    if (ceil && (count - 1) * stride >= in + begin) --count;  // no window starts in the padding at the end
    out.push_back(count);
  }
  return out;
}

const Shape& spatial_input(const Inference& node) {
  const Shape& x = node.shape(0);
  if (x.rank() < 3) node.fail(concat("expected an input [N, C, sizes], found ", x.to_string()));
  return x;
}

void conv(Inference& node) {
  const Shape &x = spatial_input(node), &w = node.shape(1);
  if (w.rank() != x.rank())
    node.fail(concat("input ", x.to_string(), " and weights ", w.to_string(), " have different ranks"));
  const int64_t groups = node.node().integer_or("group", 1);
  if (groups < 1 || w[1] > x[1] || x[1] % groups != 0 || w[0] % groups != 0 || w[1] != x[1] / groups)
    node.fail(concat("weights ", w.to_string(), " do not fit input ", x.to_string(), " in ",
                     counted(groups, "group")));
  const std::vector<int64_t> kernel = [&] {
    const std::vector<int64_t> all = w.dims();
    return std::vector<int64_t>(all.begin() + 2, all.end());
  }();
  if (node.node().integers_or("kernel_shape", kernel) != kernel)
    node.fail(concat("kernel_shape differs from its weights ", w.to_string()));
  std::vector<int64_t> dims = {x[0], w[0]};
  for (const int64_t size : windows(node, x, kernel)) dims.push_back(size);
  node.set(dims);
}

void pool(Inference& node) {
  const Shape& x = spatial_input(node);
  std::vector<int64_t> dims = {x[0], x[1]};
  for (const int64_t size : windows(node, x, node.node().integers_or("kernel_shape", {})))
    dims.push_back(size);
  node.set(dims);
}

void global_pool(Inference& node) {
  const Shape& x = spatial_input(node);
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
  dims[0] = x[0];
  dims[1] = x[1];
  node.set(dims);
}

void gemm(Inference& node) {
  const Shape &a = node.shape(0), &b = node.shape(1);
  if (a.rank() != 2 || b.rank() != 2)
    node.fail(concat("expected two matrices, found ", a.to_string(), " and ", b.to_string()));
  const int rows = node.node().integer_or("transA", 0) != 0 ? 1 : 0;
  const int columns = node.node().integer_or("transB", 0) != 0 ? 0 : 1;
  if (a[1 - rows] != b[1 - columns])
    node.fail(concat("matrices ", a.to_string(), " and ", b.to_string(), " do not fit"));
  node.set({a[rows], b[columns]});
}

void matmul(Inference& node) {
  const Shape &a = node.shape(0), &b = node.shape(1);
  if (a.rank() < 2 || b.rank() < 2) throw Inference::Unknown();  // vectors: no layer of Lenslet
  if (a[-1] != b[-2]) node.fail(concat("matrices ", a.to_string(), " and ", b.to_string(), " do not fit"));
  std::vector<int64_t> left = a.dims(), right = b.dims();
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  std::vector<int64_t> dims = broadcast(Shape(left), Shape(right), node);
  dims.push_back(a[-2]);
  dims.push_back(b[-1]);
  node.set(dims);
}

void same(Inference& node) {
  const Value& value = node.input(0);
  bool whole = node.node().op == "Identity";
  if (node.node().op == "Cast") {  // as floats they would not divide as whole numbers
    const auto to = static_cast<ValueType>(node.node().integer_or("to", 0));
    whole = to == ValueType::kInt32 || to == ValueType::kInt64;
    if (to == ValueType::kBool && value.integers) {
      std::vector<int64_t> truths = *value.integers;
      for (int64_t& truth : truths) truth = truth != 0;
      return node.set(node.shape(0).dims(), std::move(truths));
    }
  }
  if (value.integers && whole) {
    const std::vector<int64_t> integers = *value.integers, dims = node.shape(0).dims();
    node.set(dims, integers);
  } else {
    node.set(node.shape(0).dims());
  }
}

// The result of a comparison or a logical operator.
std::optional<bool> compared(std::string_view op, int64_t x, int64_t y) {
  if (op == "Equal") return x == y;
  if (op == "Greater") return x > y;
  if (op == "GreaterOrEqual") return x >= y;
  if (op == "Less") return x < y;
  if (op == "LessOrEqual") return x <= y;
  if (op == "And") return x != 0 && y != 0;
  if (op == "Or") return x != 0 || y != 0;
  return std::nullopt;
}

void negation(Inference& node) {
  const std::vector<int64_t> dims = node.shape(0).dims();
  if (!node.input(0).integers) return node.set(dims);
  std::vector<int64_t> truths = *node.input(0).integers;
  for (int64_t& truth : truths) truth = truth == 0;
  node.set(dims, std::move(truths));
}

// Whole numbers of a shape: both of one length, or one number for all. False if a result overflows, or of an operator
// that makes no whole numbers.
bool combine(std::string_view op, const std::vector<int64_t>& a, const std::vector<int64_t>& b,
             std::vector<int64_t>& out) {
  const size_t count = std::max(a.size(), b.size());
  if (a.empty() || b.empty()) return false;
  for (size_t i = 0; i < count; ++i) {
    const int64_t x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
    int64_t result = 0;
    if (const std::optional<bool> truth = compared(op, x, y)) {
      out.push_back(*truth ? 1 : 0);
      continue;
    }
    const bool overflows = op == "Add"   ? __builtin_add_overflow(x, y, &result)
                           : op == "Sub" ? __builtin_sub_overflow(x, y, &result)
                           : op == "Mul" ? __builtin_mul_overflow(x, y, &result)
                                         : y == 0 || y == -1 || (result = x / y, op != "Div");
    if (overflows) return false;
    out.push_back(result);
  }
  return true;
}

void elementwise(Inference& node) {
  std::vector<int64_t> dims = node.shape(0).dims();
  for (size_t i = 1; i < node.node().inputs.size(); ++i) dims = broadcast(Shape(dims), node.shape(i), node);
  std::vector<int64_t> integers;
  const bool two = node.node().inputs.size() == 2 && node.input(0).integers && node.input(1).integers;
  if (two && node.shape(0).rank() <= 1 && node.shape(1).rank() <= 1 &&
      combine(node.node().op, node.integers(0), node.integers(1), integers)) {
    node.set(dims, integers);
  } else {
    node.set(dims);
  }
}

}  // namespace

ShapeRule layer_rule(const std::string& op) {
  static constexpr std::array<std::string_view, 35> kSame = {
      "Relu",     "LeakyRelu", "PRelu",       "Elu",     "Selu",       "Sigmoid", "Tanh",
      "Clip",     "HardSwish", "HardSigmoid", "Softmax", "LogSoftmax", "LRN",     "BatchNormalization",
      "Identity", "Dropout",   "Cast",        "Sqrt",    "Exp",        "Log",     "Neg",
      "Abs",      "Erf",       "Softplus",    "Gelu",    "Mish",       "Celu",    "ThresholdedRelu",
      "Softsign", "Ceil",      "Floor",       "Swish",   "Reciprocal", "Round",   "Sign"};
  static constexpr std::array<std::string_view, 17> kElementwise = {"Add",
                                                                    "Sub",
                                                                    "Mul",
                                                                    "Div",
                                                                    "Pow",
                                                                    "Sum",
                                                                    "Mean",
                                                                    "Max",
                                                                    "Min",
                                                                    "Where",
                                                                    "Equal",
                                                                    "Greater",
                                                                    "GreaterOrEqual",
                                                                    "Less",
                                                                    "LessOrEqual",
                                                                    "And",
                                                                    "Or"};
  if (op == "Conv") return conv;
  if (op == "MaxPool" || op == "AveragePool") return pool;
  if (op == "GlobalAveragePool" || op == "GlobalMaxPool") return global_pool;
  if (op == "Gemm") return gemm;
  if (op == "Not") return negation;
  if (op == "MatMul") return matmul;
  if (std::find(kSame.begin(), kSame.end(), op) != kSame.end()) return same;
  if (std::find(kElementwise.begin(), kElementwise.end(), op) != kElementwise.end()) return elementwise;
  return nullptr;
}

}  // namespace lenslet::onnx
