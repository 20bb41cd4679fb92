// ValueInfoProto name 1, type 2 > TypeProto tensor_type 1 > Tensor elem_type 1, shape 2 > TensorShapeProto dim 1.

#include "framework/base/text.h"
#include "framework/tensor/shape.h"
#include "models/onnx/read/read_tensor.h"
#include "models/onnx/read/wire.h"

namespace lenslet::onnx {
namespace {

ValueInfo::Dim read_dim(std::string_view bytes, const std::string& origin) {
  WireMessage message(bytes, "TensorShapeProto.Dimension", origin);
  ValueInfo::Dim dim;
  while (message.next()) {
    if (message.field() == 1) {
      dim.size = message.integer();
      if (dim.size < -1) message.fail(concat("a size of ", dim.size));
    } else if (message.field() == 2) {
      dim.symbol = message.text(kMaxName);
    } else {
      message.skip();
    }
  }
  return dim;
}

}  // namespace

ValueInfo read_value(std::string_view bytes, const std::string& origin) {
  WireMessage message(bytes, "ValueInfoProto", origin);
  ValueInfo value;
  bool is_tensor = false;
  while (message.next()) {
    if (message.field() == 1) {
      value.name = message.text(kMaxName);
    } else if (message.field() == 2) {
      WireMessage type(message.bytes(), "TypeProto", origin);
      while (type.next()) {
        if (type.field() != 1) {
          type.skip();
          continue;
        }
        is_tensor = true;
        WireMessage tensor(type.bytes(), "TypeProto.Tensor", origin);
        while (tensor.next()) {
          if (tensor.field() == 1) {
            value.type = static_cast<ValueType>(tensor.small_integer());
          } else if (tensor.field() == 2) {
            value.has_shape = true;
            value.dims.clear();
            WireMessage shape(tensor.bytes(), "TensorShapeProto", origin);
            while (shape.next()) {
              if (shape.field() == 1) {
                if (value.dims.size() == Shape::kMaxRank)
                  shape.fail(concat("more than ", Shape::kMaxRank, " dimensions"));
                value.dims.push_back(read_dim(shape.bytes(), origin));
              } else {
                shape.skip();
              }
            }
          } else {
            tensor.skip();
          }
        }
      }
    } else {
      message.skip();
    }
  }
  if (!is_tensor)
    message.fail(concat("input or output \"", printable_excerpt(value.name), "\" is not a tensor"));
  return value;
}

}  // namespace lenslet::onnx
