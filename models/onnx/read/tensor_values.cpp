#include "models/onnx/read/tensor_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "framework/base/text.h"
#include "framework/tensor/float_formats.h"
#include "models/onnx/read/wire.h"

namespace lenslet::onnx {
namespace {

// Fields of TensorProto that hold values.
constexpr uint32_t kFloatData = 4, kInt32Data = 5, kInt64Data = 7, kDoubleData = 10;
constexpr size_t kPieceBytes = 1 << 18;  // read at a time; a multiple of every type's size

size_t bytes_of(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kFloat16:
    case ValueType::kBfloat16:
      return 2;
    case ValueType::kFloat:
    case ValueType::kInt32:
      return 4;
    case ValueType::kInt64:
    case ValueType::kDouble:
      return 8;
    case ValueType::kString:
      break;
  }
  return 0;
}

uint32_t typed_field(ValueType type) {
  switch (type) {
    case ValueType::kFloat:
      return kFloatData;
    case ValueType::kDouble:
      return kDoubleData;
    case ValueType::kInt64:
      return kInt64Data;
    default:
      return kInt32Data;  // also the bits of float16 and bfloat16
  }
}

template <class Value>
Value load(const char* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// 16 bits of either format.
float narrow_float(ValueType type, uint16_t bits) {
  return type == ValueType::kFloat16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

template <class Real, class Integer>
void visit_raw(std::string_view raw, ValueType type, const Real& real, const Integer& integer) {
  const size_t size = bytes_of(type);
  for (size_t at = 0; at + size <= raw.size(); at += size) {
    const char* const from = raw.data() + at;
    switch (type) {
      case ValueType::kFloat:
        real(load<float>(from));
        break;
      case ValueType::kDouble:
        real(static_cast<float>(load<double>(from)));
        break;
      case ValueType::kFloat16:
      case ValueType::kBfloat16:
        real(narrow_float(type, load<uint16_t>(from)));
        break;
      case ValueType::kInt64:
        integer(load<int64_t>(from));
        break;
      case ValueType::kInt32:
        integer(load<int32_t>(from));
        break;
      case ValueType::kInt8:
        integer(load<int8_t>(from));
        break;
      default:
        integer(load<uint8_t>(from));
    }
  }
}

// Calls real(float) or integer(int64_t) for every value.
template <class Real, class Integer>
void visit(const TensorData& tensor, const std::string& origin, const Real& real, const Integer& integer) {
  if (tensor.is_raw) {
    const FilePart& part = tensor.part;
    if (!part.source) return visit_raw(tensor.raw, tensor.type, real, integer);
    std::vector<char> piece(static_cast<size_t>(std::min<uint64_t>(part.bytes, kPieceBytes)));
    for (uint64_t done = 0; done < part.bytes; done += piece.size()) {
      piece.resize(static_cast<size_t>(std::min<uint64_t>(part.bytes - done, piece.size())));
      part.source->read(part.offset + done, piece.data(), piece.size());
      visit_raw({piece.data(), piece.size()}, tensor.type, real, integer);
    }
    return;
  }
  const uint32_t field = typed_field(tensor.type);
  WireMessage message(tensor.message, "TensorProto", origin);
  while (message.next()) {
    if (message.field() != field) {
      message.skip();
    } else if (field == kFloatData) {
      message.each<float>(real);
    } else if (field == kDoubleData) {
      message.each<double>([&](double value) { real(static_cast<float>(value)); });
    } else if (is_floating(tensor.type)) {
      message.each<int64_t>(
          [&](int64_t bits) { real(narrow_float(tensor.type, static_cast<uint16_t>(bits))); });
    } else {
      message.each<int64_t>(integer);
    }
  }
}

}  // namespace

std::string quoted(const TensorData& tensor) { return "tensor \"" + printable_excerpt(tensor.name) + "\""; }

bool is_readable(ValueType type) noexcept { return bytes_of(type) != 0; }

void check_tensor_size(const TensorData& tensor, const std::string& origin) {
  const uint64_t expected = static_cast<uint64_t>(tensor.count) * bytes_of(tensor.type);
  const uint64_t found = tensor.part.source ? tensor.part.bytes : tensor.raw.size();
  if (tensor.is_raw && found != expected)
    throw DataError(concat(origin, ": ", quoted(tensor), ": its ", tensor.count, " values of ",
                           to_string(tensor.type), " take ", expected, " bytes, found ", found));
}

void check_tensor_values(const TensorData& tensor, const std::string& origin) {
  check_tensor_size(tensor, origin);
  const auto fail = [&](const auto&... what) {
    throw DataError(concat(origin, ": ", quoted(tensor), ": ", what...));
  };
  int64_t found = 0, bad = 0;
  visit(
      tensor, origin,
      [&](float value) {
        ++found;
        bad += !std::isfinite(value);
      },
      [&](int64_t) { ++found; });
  if (found != tensor.count) fail("its dimensions state ", tensor.count, " values, found ", found);
  if (bad > 0) fail(bad, " of its ", tensor.count, " values are NaN or infinite as fp32");
}

std::vector<float> float_values(const TensorData& tensor, const std::string& origin) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(tensor.count));
  visit(
      tensor, origin, [&](float value) { values.push_back(value); }, [](int64_t) {});
  return values;
}

std::vector<int64_t> integer_values(const TensorData& tensor, const std::string& origin) {
  std::vector<int64_t> values;
  values.reserve(static_cast<size_t>(tensor.count));
  visit(
      tensor, origin, [](float) {}, [&](int64_t value) { values.push_back(value); });
  return values;
}

}  // namespace lenslet::onnx
