#include "models/onnx/read/model.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet::onnx {

std::string to_string(ValueType type) {
  switch (type) {
    case ValueType::kFloat:
      return "float";
    case ValueType::kUint8:
      return "uint8";
    case ValueType::kInt8:
      return "int8";
    case ValueType::kInt32:
      return "int32";
    case ValueType::kInt64:
      return "int64";
    case ValueType::kString:
      return "string";
    case ValueType::kBool:
      return "bool";
    case ValueType::kFloat16:
      return "float16";
    case ValueType::kDouble:
      return "double";
    case ValueType::kBfloat16:
      return "bfloat16";
  }
  return concat("type ", static_cast<int>(type));
}

std::string to_string(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kNone:
      return "without a value";
    case AttributeKind::kReal:
      return "a float";
    case AttributeKind::kInteger:
      return "an int";
    case AttributeKind::kText:
      return "a string";
    case AttributeKind::kTensor:
      return "a tensor";
    case AttributeKind::kGraph:
      return "a graph";
    case AttributeKind::kReals:
      return "a list of floats";
    case AttributeKind::kIntegers:
      return "a list of ints";
    case AttributeKind::kGraphs:
      return "a list of graphs";
  }
  return concat("of type ", static_cast<int>(kind));
}

bool is_floating(ValueType type) noexcept {
  return type == ValueType::kFloat || type == ValueType::kFloat16 || type == ValueType::kDouble ||
         type == ValueType::kBfloat16;
}

const Attribute* Node::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& each) { return each.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

const Attribute* Node::find(std::string_view attribute, AttributeKind kind) const {
  const Attribute* const found = find(attribute);
  if (found && found->kind != kind)
    throw DataError(concat(origin ? *origin + ": " : "", "node \"", printable_excerpt(name, 100), "\" (",
                           printable_excerpt(op, 40), "): attribute \"", attribute, "\" is ",
                           to_string(found->kind), ", expected ", to_string(kind)));
  return found;
}

int64_t Node::integer_or(std::string_view attribute, int64_t fallback) const {
  const Attribute* const found = find(attribute, AttributeKind::kInteger);
  return found ? found->integer.value_or(0) : fallback;
}

float Node::real_or(std::string_view attribute, float fallback) const {
  const Attribute* const found = find(attribute, AttributeKind::kReal);
  return found ? found->real.value_or(0) : fallback;
}

std::string Node::text_or(std::string_view attribute, const char* fallback) const {
  const Attribute* const found = find(attribute, AttributeKind::kText);
  return found ? found->text.value_or("") : fallback;
}

std::vector<int64_t> Node::integers_or(std::string_view attribute, std::vector<int64_t> fallback) const {
  const Attribute* const found = find(attribute, AttributeKind::kIntegers);
  if (found) return found->integers;
  return fallback;
}

std::string ValueInfo::shape_text() const {
  if (!has_shape) return "?";
  if (dims.empty()) return "scalar";
  std::string text;
  for (const Dim& dim : dims) {
    text += text.empty() ? "" : "x";
    text += dim.size >= 0 ? std::to_string(dim.size) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text;
}

}  // namespace lenslet::onnx
