// Internal: reads ONNX files: weights inside the file or beside it, and the branches that their If nodes take.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/onnx/read/reader.h"

namespace lenslet::onnx {

/// Looks at a model: before the values of its weights are read if it has more than kReadAtOnce, so that it is refused
/// at once; else after, so that the importer lists all faults together, also those that depend on weights. Throws
/// DataError.
using Inspection = std::function<void(const Model&)>;

/// Parses a ModelProto and checks that it is whole: every value that a node reads is an input, a constant tensor or the
/// output of an earlier node; names are unique; constant tensors have the values that their shapes state, all finite.
/// Without `external` a tensor with external data is refused. The branch of an If with a known condition takes its
/// place (shape/branches.h); other subgraphs and functions are not read. Throws DataError naming `origin`; MemoryError
/// where the weights take more memory than there is.
Model parse_model(const std::shared_ptr<const ByteSource>& file, const std::string& origin,
                  const ExternalFiles& external = {}, const Inspection& inspection = {});
/// Like parse_model() above, for bytes in memory.
Model parse_model(std::vector<uint8_t> bytes, const std::string& origin, const ExternalFiles& external = {},
                  const Inspection& inspection = {});

/// Reads and parses a file, or standard input for "-". External files lie in its folder or below; links that lead out
/// are refused. Throws like read_file() and parse_model().
Model read_model(const std::string& path, const Inspection& inspection = {});

}  // namespace lenslet::onnx
