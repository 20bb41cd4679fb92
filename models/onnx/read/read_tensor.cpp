// TensorProto: dims 1, data_type 2, segment 3, float_data 4, int32_data 5, string_data 6, int64_data 7, name 8,
// raw_data 9, double_data 10, uint64_data 11, external_data 13, data_location 14.

#include "models/onnx/read/read_tensor.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "framework/base/parse_number.h"
#include "framework/base/text.h"
#include "framework/device/device.h"
#include "framework/tensor/shape.h"
#include "models/onnx/read/tensor_values.h"
#include "models/onnx/read/wire.h"

namespace lenslet::onnx {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFewWeights = 1 << 24;  // values that are read without a look at the free memory

uint64_t decimal(const std::string& text, const char* key, const WireMessage& message) {
  if (const std::optional<uint64_t> value = parse_number<uint64_t>(text)) return *value;
  message.fail(
      concat("external data: ", key, " is \"", printable_excerpt(text), "\", expected a whole number"));
}

// One StringStringEntryProto of external_data.
void read_external(std::string_view bytes, TensorData& tensor, const std::string& origin) {
  WireMessage message(bytes, "StringStringEntryProto", origin);
  std::string key, value;
  while (message.next()) {
    if (message.field() == 1) {
      key = message.text(kMaxName);
    } else if (message.field() == 2) {
      value = message.text(kMaxName);
    } else {
      message.skip();
    }
  }
  if (key == "location") tensor.location = value;
  if (key == "offset") tensor.offset = decimal(value, "offset", message);
  if (key == "length") tensor.length = decimal(value, "length", message);
}

// A path inside the folder, without a step up; what links do is checked when the file is opened.
void check_location(const TensorData& tensor, const std::string& origin) {
  const fs::path path(tensor.location);
  const bool steps_up =
      std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  if (tensor.location.empty() || path.is_absolute() || steps_up ||
      tensor.location.find('\0') != std::string::npos) {
    throw DataError(concat(origin, ": ", quoted(tensor), ": its external data are in \"",
                           printable_excerpt(tensor.location),
                           "\", expected a relative path inside the model's folder"));
  }
}

// Layers take the weights as fp32. A system that promises more memory than it has would end the process later.
void check_weight_memory(int64_t weights, const std::string& origin) {
  if (weights <= kFewWeights) return;
  const auto needed = static_cast<size_t>(weights) * sizeof(float), free = free_memory_bytes(Device::cpu());
  if (needed > free)
    throw MemoryError(concat(origin, ": its weights take ", needed, " bytes as fp32, ", free, " are free"));
}

}  // namespace

TensorData read_tensor(std::string_view bytes, const std::string& origin) {
  WireMessage message(bytes, "TensorProto", origin);
  TensorData tensor;
  tensor.message = bytes;
  bool has_type = false, is_external = false, has_floats = false;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        message.each<int64_t>([&](int64_t dim) {
          if (tensor.dims.size() == Shape::kMaxRank)
            message.fail(concat("more than ", Shape::kMaxRank, " dimensions"));
          tensor.dims.push_back(dim);
        });
        break;
      case 2:
        tensor.type = static_cast<ValueType>(message.small_integer());
        has_type = true;
        break;
      case 3:
        message.fail("a tensor in segments");
      case 4:
        if (message.has_bytes())
          tensor.floats = message.bytes();
        else
          message.skip();
        if (std::exchange(has_floats, true)) tensor.floats = {};
        break;
      case 8:
        tensor.name = message.text(kMaxName);
        break;
      case 9:
        tensor.raw = message.bytes();
        tensor.is_raw = true;
        break;
      case 13:
        read_external(message.bytes(), tensor, origin);
        break;
      case 14:
        is_external = message.small_integer() == 1;
        break;
      default:
        message.skip();
    }
  }
  if (!has_type || !is_readable(tensor.type))
    throw DataError(concat(origin, ": ", quoted(tensor),
                           ": expected numbers of float, float16, bfloat16, "
                           "double, int8, int32, int64, uint8 or bool, found ",
                           has_type ? to_string(tensor.type) : "no type"));
  for (const int64_t dim : tensor.dims) {
    if (dim < 0) throw DataError(concat(origin, ": ", quoted(tensor), ": a dimension of ", dim));
    // Without the zeros, so that no product of some of the sizes overflows either.
    if (__builtin_mul_overflow(tensor.count, std::max<int64_t>(dim, 1), &tensor.count) ||
        tensor.count > int64_t{1} << 40)
      throw DataError(concat(origin, ": ", quoted(tensor), ": the product of its dimensions exceeds 2^40"));
  }
  if (std::find(tensor.dims.begin(), tensor.dims.end(), 0) != tensor.dims.end()) tensor.count = 0;
  if (is_external) {
    if (tensor.is_raw) message.fail(quoted(tensor) + " has values in the model and in an external file");
    check_location(tensor, origin);
  } else {
    tensor.location.clear();
  }
  return tensor;
}

void attach_values(Model& model, const std::map<const char*, FilePart>& left_out, const std::string& origin,
                   const ExternalFiles& external, int64_t& weights_left) {
  std::map<std::string, std::shared_ptr<const ByteSource>> files;
  const auto attach = [&](TensorData& tensor) {
    if (tensor.is_raw || tensor.type == ValueType::kFloat) {
      const auto found = left_out.find(tensor.is_raw ? tensor.raw.data() : tensor.floats.data());
      if (found != left_out.end()) {
        tensor.part = found->second;
        tensor.is_raw = true;
      }
    }
    if (!tensor.location.empty()) {
      auto& file = files[tensor.location];
      if (!file) {
        if (files.size() > kMaxExternalFiles)
          throw DataError(concat(origin, ": more than ", kMaxExternalFiles, " external files"));
        if (!external)
          throw DataError(concat(origin, ": ", quoted(tensor), " is in an external file, \"",
                                 printable_excerpt(tensor.location), "\", which is not available here"));
        file = external(tensor.location);
      }
      const uint64_t size = file->size();
      const uint64_t length = tensor.length.value_or(tensor.offset <= size ? size - tensor.offset : 0);
      if (tensor.offset > size || length > size - tensor.offset)
        throw DataError(concat(origin, ": ", quoted(tensor), ": expected ", length, " bytes at offset ",
                               tensor.offset, " of \"", printable_excerpt(tensor.location), "\", which has ",
                               size));
      tensor.part = {file, tensor.offset, length};
      tensor.is_raw = true;
    }
    check_tensor_size(tensor, origin);
    if (tensor.count > weights_left)
      throw DataError(
          concat(origin, ": its constant tensors have more than ", kMaxWeights, " values together"));
    weights_left -= tensor.count;
    if (!tensor.part.source) check_tensor_values(tensor, origin);
  };
  for (auto& [name, tensor] : model.initializers) attach(tensor);
  for (Node& node : model.nodes)
    for (Attribute& attribute : node.attributes)
      if (attribute.tensor) attach(*attribute.tensor);

  // Up to IR version 3 every initializer is also an input.
  const auto is_set = [&](const ValueInfo& input) { return model.initializers.count(input.name) != 0; };
  model.inputs.erase(std::remove_if(model.inputs.begin(), model.inputs.end(), is_set), model.inputs.end());
}

void check_weights(const Model& model, const std::string& origin) {
  int64_t weights = 0;
  const auto check = [&](const TensorData& tensor) {
    weights += tensor.count;
    if (tensor.part.source) check_tensor_values(tensor, origin);
  };
  for (const auto& [name, tensor] : model.initializers) check(tensor);
  for (const Node& node : model.nodes)
    for (const Attribute& attribute : node.attributes)
      if (attribute.tensor) check(*attribute.tensor);
  check_weight_memory(weights, origin);
}

}  // namespace lenslet::onnx
