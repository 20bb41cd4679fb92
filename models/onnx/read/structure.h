// Internal: a model file without the values of its tensors, which stay in the file until a layer takes them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

inline constexpr size_t kMaxKept = 1024;  // bytes of a tensor's values that stay in the structure
inline constexpr size_t kMaxStructureBytes = size_t{256} << 20;

struct Structure {
  std::vector<uint8_t> bytes;  // a ModelProto in which longer raw_data and packed float_data are empty
  std::map<const char*, FilePart> left_out;  // by where the empty values stand in `bytes`
  bool damaged = false;  // a field does not fit its message: `bytes` ends with it, and parsing it fails
};

/// Walks through the messages that lead to tensors, with one buffer, and copies the rest. Throws DataError naming
/// `origin` for more than kMaxStructureBytes besides the values.
Structure read_structure(const std::shared_ptr<const ByteSource>& file, const std::string& origin);

}  // namespace lenslet::onnx
