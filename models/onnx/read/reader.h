// Internal: reads the structure of ONNX files of operator sets 6 to 23, and the limits of such files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

/// The operator sets that the importer implements; the limits below bound the memory of a wrong or hostile file and are
/// many times what published networks have.
inline constexpr int64_t kFirstOpset = 6, kLastOpset = 23;
inline constexpr uint64_t kMaxFileBytes = (uint64_t{1} << 31) - 1;  // of the model, as every protobuf message
inline constexpr int64_t kMaxWeights = int64_t{1} << 29;            // values of all constant tensors together
inline constexpr int64_t kReadAtOnce = int64_t{1} << 22;            // values: 16 MiB of fp32
inline constexpr size_t kMaxNodes = 20000;
inline constexpr size_t kMaxValues = 20000;      // each of: constant tensors, inputs, outputs
inline constexpr size_t kMaxNodeParts = 100000;  // inputs, outputs and attributes of all nodes together
inline constexpr size_t kMaxNumbers = 1 << 20;   // in the attributes of all nodes together
inline constexpr size_t kMaxName = 1024;         // bytes
inline constexpr size_t kMaxMetadata = 256;      // entries, each of 64 KiB at most
inline constexpr size_t kMaxExternalFiles = 16;

/// An external file, by its location. Throws DataError.
using ExternalFiles = std::function<std::shared_ptr<const ByteSource>(const std::string& location)>;

/// Reads a model, and the branches of its If nodes one by one, within limits that all of them share. Values stay in the
/// file until they are read (check_weights()).
class ModelReader {
 public:
  /// Without `external` a tensor with external data is refused. Throws DataError, which names `origin`, for a file that
  /// holds no ModelProto.
  ModelReader(const std::shared_ptr<const ByteSource>& file, std::string origin, ExternalFiles external);

  /// The model as the file states it; whether it is whole is not checked. Throws DataError.
  Model model();
  /// A GraphProto that an attribute of the model holds: its nodes, initializers, inputs and outputs.
  Model branch(std::string_view graph);
  /// Values of the constant tensors read so far.
  int64_t weights() const noexcept { return kMaxWeights - left_.weights; }

  /// How many more of each the limits allow.
  struct Left {
    size_t parts = kMaxNodeParts, numbers = kMaxNumbers;
    int64_t weights = kMaxWeights;
  };

 private:
  const std::string origin_;
  const ExternalFiles external_;
  std::shared_ptr<const std::vector<uint8_t>> bytes_;  // of the structure
  std::map<const char*, FilePart> left_out_;           // of the structure, by where they would begin
  bool damaged_ = false;                               // a field does not fit its message
  Left left_;
};

}  // namespace lenslet::onnx
