// Internal: tensors, inputs and outputs, and the files beside the model.
#pragma once

#include <string>
#include <string_view>

#include "models/onnx/model.h"
#include "models/onnx/reader.h"

namespace lenslet::onnx {

inline constexpr size_t kMaxRank = 8;  // of any tensor, as Shape::kMaxRank

/// The name, the shape and where the values are; the values are not read. Throws DataError for a shape whose product
/// overflows, a type that Lenslet does not read, and values in two places.
TensorData read_tensor(std::string_view bytes, const std::string& origin);

/// An input or output, which must be a tensor. Throws DataError.
ValueInfo read_value(std::string_view bytes, const std::string& origin);

/// Finds the external values, checks those of every constant tensor (tensor_values.h), and leaves the inputs that no
/// initializer sets.
void attach_values(Model& model, const std::string& origin, const ExternalFiles& external);

}  // namespace lenslet::onnx
