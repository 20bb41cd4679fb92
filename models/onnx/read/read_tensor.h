// Internal: tensors, inputs and outputs, and the files beside the model.
#pragma once

#include <string>
#include <string_view>

#include "models/onnx/read/model.h"
#include "models/onnx/read/reader.h"
#include "models/onnx/read/structure.h"

namespace lenslet::onnx {

/// The name, the shape and where the values are; the values are not read. Throws DataError for a shape whose product
/// overflows, a type that Lenslet does not read, and values in two places.
TensorData read_tensor(std::string_view bytes, const std::string& origin);

/// An input or output, which must be a tensor. Throws DataError.
ValueInfo read_value(std::string_view bytes, const std::string& origin);

/// Finds the values that were left out of the structure and the external ones, checks how many they are, and leaves the
/// inputs that no initializer sets. Reads only values that stand in the structure. `weights_left` bounds the values of
/// all tensors.
void attach_values(Model& model, const std::map<const char*, FilePart>& left_out, const std::string& origin,
                   const ExternalFiles& external, int64_t& weights_left);

/// Reads all values that attach_values() has left in files, and checks them (tensor_values.h). Throws DataError, and
/// MemoryError where the model's weights take more memory than there is.
void check_weights(const Model& model, const std::string& origin);

}  // namespace lenslet::onnx
