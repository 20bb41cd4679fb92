// Internal: values of a constant tensor: converted to fp32, or whole numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

/// The name of a tensor, for messages: tensor "w".
std::string quoted(const TensorData& tensor);

/// Whether this reader has the type: numbers of 64 bits at most, and bool.
bool is_readable(ValueType type) noexcept;

/// Throws DataError unless raw values have the bytes that the dims state. Reads none of them.
void check_tensor_size(const TensorData& tensor, const std::string& origin);
/// check_tensor_size(), and throws DataError unless the tensor has as many values as its dims state and every number is
/// finite. Reads the values piece by piece.
void check_tensor_values(const TensorData& tensor, const std::string& origin);

/// The values as fp32, in C order. Only for a checked tensor of a floating type.
std::vector<float> float_values(const TensorData& tensor, const std::string& origin);
/// The values of a checked tensor of any other type.
std::vector<int64_t> integer_values(const TensorData& tensor, const std::string& origin);

}  // namespace lenslet::onnx
