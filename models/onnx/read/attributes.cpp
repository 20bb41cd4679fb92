#include "models/onnx/read/attributes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/text.h"

namespace lenslet::onnx {
namespace {

struct Row {
  std::string_view op, attributes;
};

// The attributes of operator sets 6 to 23; "axis:6" is one that sets above 6 do not have. Source: the schemas of the
// Python package onnx, which tests/models/onnx/checker_test.py compares.
constexpr Row kAttributes[] = {
    {"Abs", ""},
    {"Add", "axis:6 broadcast:6"},
    {"And", "axis:6 broadcast:6"},
    {"AveragePool", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"BatchNormalization", "epsilon is_test:6 momentum spatial:8 training_mode"},
    {"Cast", "saturate to"},
    {"Ceil", ""},
    {"Celu", "alpha"},
    {"Clip", "max:10 min:10"},
    {"Concat", "axis"},
    {"Constant",
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings"},
    {"ConstantOfShape", "value"},
    {"Conv", "auto_pad dilations group kernel_shape pads strides"},
    {"Div", "axis:6 broadcast:6"},
    {"Dropout", "is_test:6 ratio:11 seed"},
    {"Elu", "alpha"},
    {"Equal", "axis:6 broadcast:6"},
    {"Erf", ""},
    {"Exp", ""},
    {"Flatten", "axis"},
    {"Floor", ""},
    {"Gather", "axis"},
    {"Gelu", "approximate"},
    {"Gemm", "alpha beta broadcast:6 transA transB"},
    {"GlobalAveragePool", ""},
    {"GlobalMaxPool", ""},
    {"Greater", "axis:6 broadcast:6"},
    {"GreaterOrEqual", ""},
    {"HardSigmoid", "alpha beta"},
    {"HardSwish", ""},
    {"Identity", ""},
    {"If", "else_branch then_branch"},
    {"LRN", "alpha beta bias size"},
    {"LeakyRelu", "alpha"},
    {"Less", "axis:6 broadcast:6"},
    {"LessOrEqual", ""},
    {"Log", ""},
    {"LogSoftmax", "axis"},
    {"MatMul", ""},
    {"Max", ""},
    {"MaxPool", "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"Mean", ""},
    {"Min", ""},
    {"Mish", ""},
    {"Mul", "axis:6 broadcast:6"},
    {"Neg", ""},
    {"Not", ""},
    {"Or", "axis:6 broadcast:6"},
    {"PRelu", ""},
    {"Pad", "mode pads:10 value:10"},
    {"Pow", "axis:6 broadcast:6"},
    {"Reciprocal", ""},
    {"ReduceMax", "axes:17 keepdims noop_with_empty_axes"},
    {"ReduceMean", "axes:17 keepdims noop_with_empty_axes"},
    {"Relu", ""},
    {"Reshape", "allowzero"},
    {"Round", ""},
    {"Selu", "alpha gamma"},
    {"Shape", "end start"},
    {"Sigmoid", ""},
    {"Sign", ""},
    {"Slice", "axes:9 ends:9 starts:9"},
    {"Softmax", "axis"},
    {"Softplus", ""},
    {"Softsign", ""},
    {"Split", "axis num_outputs split:12"},
    {"Sqrt", ""},
    {"Squeeze", "axes:12"},
    {"Sub", "axis:6 broadcast:6"},
    {"Sum", ""},
    {"Swish", "alpha"},
    {"Tanh", ""},
    {"ThresholdedRelu", "alpha"},
    {"Transpose", "perm"},
    {"Unsqueeze", "axes:12"},
    {"Where", ""},
};

const Row* row_of(std::string_view op) {
  for (const Row& row : kAttributes)
    if (row.op == op) return &row;
  return nullptr;
}

std::vector<std::string> attributes_of(const Row& row, int64_t opset) {
  std::vector<std::string> names;
  if (row.attributes.empty()) return names;
  for (const std::string& word : split(row.attributes, " ")) {
    const size_t colon = word.find(':');
    if (colon == std::string::npos || opset <= std::stoll(word.substr(colon + 1)))
      names.push_back(word.substr(0, colon));
  }
  return names;
}

}  // namespace

std::string unknown_attribute(const Node& node, int64_t opset) {
  const Row* const row = row_of(node.op);
  if (!row || node.attributes.empty()) return {};
  const std::vector<std::string> known = attributes_of(*row, opset);
  for (const Attribute& attribute : node.attributes) {
    if (std::find(known.begin(), known.end(), attribute.name) != known.end()) continue;
    const std::string what = concat("attribute \"", printable_excerpt(attribute.name, 40), "\" is none of ",
                                    node.op, "'s in operator set ", opset);
    return known.empty() ? what + ", which has none" : concat(what, ": ", comma_list(known));
  }
  return {};
}

}  // namespace lenslet::onnx
