#include "models/onnx/model.h"

#include <algorithm>

#include "framework/base/error.h"

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

bool is_floating(ValueType type) noexcept {
  return type == ValueType::kFloat || type == ValueType::kFloat16 || type == ValueType::kDouble ||
         type == ValueType::kBfloat16;
}

const Attribute* Node::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& each) { return each.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

int64_t Node::integer_or(std::string_view attribute, int64_t fallback) const {
  const Attribute* const found = find(attribute);
  return found ? found->integer.value_or(fallback) : fallback;
}

float Node::real_or(std::string_view attribute, float fallback) const {
  const Attribute* const found = find(attribute);
  return found ? found->real.value_or(fallback) : fallback;
}

std::string Node::text_or(std::string_view attribute, const char* fallback) const {
  const Attribute* const found = find(attribute);
  return found ? found->text.value_or(fallback) : fallback;
}

std::vector<int64_t> Node::integers_or(std::string_view attribute, std::vector<int64_t> fallback) const {
  const Attribute* const found = find(attribute);
  return found ? found->integers : std::move(fallback);
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
