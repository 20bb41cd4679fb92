// Internal: reads ONNX files: operator sets 6 to 23, weights inside the file or beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

inline constexpr int64_t kFirstOpset = 6, kLastOpset = 23;
inline constexpr uint64_t kMaxFileBytes = (uint64_t{1} << 31) - 1;  // of the model, as every protobuf message
inline constexpr int64_t kMaxWeights = int64_t{1} << 29;            // values of all constant tensors together
inline constexpr int64_t kReadAtOnce = int64_t{1} << 22;  // values: 16 MiB of fp32, read within 20 ms
inline constexpr size_t kMaxNodes = 20000;
inline constexpr size_t kMaxValues = 20000;      // each of: constant tensors, inputs, outputs
inline constexpr size_t kMaxNodeParts = 100000;  // inputs, outputs and attributes of all nodes together
inline constexpr size_t kMaxNumbers = 1 << 20;   // in the attributes of all nodes together
inline constexpr size_t kMaxName = 1024;         // bytes
inline constexpr size_t kMaxMetadata = 256;      // entries, each of 64 KiB at most
inline constexpr size_t kMaxExternalFiles = 16;

/// An external file, by its location. Throws DataError.
using ExternalFiles = std::function<std::shared_ptr<const ByteSource>(const std::string& location)>;

/// Looks at a model of more than kReadAtOnce weights before their values are read, so that it is refused at once. A
/// smaller one is read first: then its importer lists what no weight decides together with the rest. Throws DataError.
using Inspection = std::function<void(const Model&)>;

/// Parses a ModelProto and checks that it is whole: every value that a node reads is an input, a constant tensor or the
/// output of an earlier node; names are unique; constant tensors have the values that their shapes state, all finite.
/// Without `external` a tensor with external data is refused. The branch of an If with a known condition takes its
/// place (branches.h); other subgraphs and functions are not read. Throws DataError naming `origin`; MemoryError where
/// the weights take more memory than there is.
Model parse_model(const std::shared_ptr<const ByteSource>& file, const std::string& origin,
                  const ExternalFiles& external = {}, const Inspection& inspection = {});
/// The same for bytes in memory.
Model parse_model(std::vector<uint8_t> bytes, const std::string& origin, const ExternalFiles& external = {},
                  const Inspection& inspection = {});

/// Reads and parses a file, or standard input for "-". External files lie in its folder or below; links that lead out
/// are refused. Throws like read_file() and parse_model().
Model read_model(const std::string& path, const Inspection& inspection = {});

}  // namespace lenslet::onnx
