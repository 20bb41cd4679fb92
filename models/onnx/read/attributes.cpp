#include "models/onnx/read/attributes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet::onnx {
namespace {

struct Row {
  std::string_view op, attributes;
};

// Those of operator sets 6 to 23, of operators that have any. Source: the schemas of the Python package onnx, which
// tests/models/onnx/checker_test.py compares.
constexpr Row kAttributes[] = {
    {"Add", "axis broadcast"},
    {"And", "axis broadcast"},
    {"AveragePool", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"BatchNormalization", "epsilon is_test momentum spatial training_mode"},
    {"Cast", "saturate to"},
    {"Celu", "alpha"},
    {"Clip", "max min"},
    {"Concat", "axis"},
    {"Constant",
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings"},
    {"ConstantOfShape", "value"},
    {"Conv", "auto_pad dilations group kernel_shape pads strides"},
    {"Div", "axis broadcast"},
    {"Dropout", "is_test ratio seed"},
    {"Elu", "alpha"},
    {"Equal", "axis broadcast"},
    {"Flatten", "axis"},
    {"Gather", "axis"},
    {"Gelu", "approximate"},
    {"Gemm", "alpha beta broadcast transA transB"},
    {"Greater", "axis broadcast"},
    {"HardSigmoid", "alpha beta"},
    {"If", "else_branch then_branch"},
    {"LRN", "alpha beta bias size"},
    {"LeakyRelu", "alpha"},
    {"Less", "axis broadcast"},
    {"LogSoftmax", "axis"},
    {"MaxPool", "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"Mul", "axis broadcast"},
    {"Or", "axis broadcast"},
    {"Pad", "mode pads value"},
    {"Pow", "axis broadcast"},
    {"ReduceMax", "axes keepdims noop_with_empty_axes"},
    {"ReduceMean", "axes keepdims noop_with_empty_axes"},
    {"Reshape", "allowzero"},
    {"Selu", "alpha gamma"},
    {"Shape", "end start"},
    {"Slice", "axes ends starts"},
    {"Softmax", "axis"},
    {"Split", "axis num_outputs split"},
    {"Squeeze", "axes"},
    {"Sub", "axis broadcast"},
    {"Swish", "alpha"},
    {"ThresholdedRelu", "alpha"},
    {"Transpose", "perm"},
    {"Unsqueeze", "axes"},
};

std::vector<std::string> attributes_of(std::string_view op) {
  std::vector<std::string> names;
  for (const Row& row : kAttributes) {
    if (row.op != op) continue;
    for (size_t begin = 0; begin < row.attributes.size();) {
      const size_t end = std::min(row.attributes.find(' ', begin), row.attributes.size());
      names.emplace_back(row.attributes.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return names;
}

}  // namespace

std::string unknown_attribute(const Node& node) {
  if (node.attributes.empty()) return {};
  const std::vector<std::string> known = attributes_of(node.op);
  for (const Attribute& attribute : node.attributes) {
    if (std::find(known.begin(), known.end(), attribute.name) != known.end()) continue;
    const std::string what = concat("attribute \"", printable_excerpt(attribute.name, 40), "\" is none of ",
                                    printable_excerpt(node.op, 40), "'s");
    return known.empty() ? what + ", which has none" : concat(what, ": ", comma_list(known));
  }
  return {};
}

}  // namespace lenslet::onnx
