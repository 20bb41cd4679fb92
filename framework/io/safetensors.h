// safetensors files: a JSON header and raw little-endian tensors (weights/FORMAT.md).
#pragma once

#include <map>
#include <string>

#include "framework/tensor/tensor.h"

namespace lenslet {

/// A file's content.
struct Safetensors {
  std::map<std::string, Tensor> tensors;        // host, converted to fp32
  std::map<std::string, std::string> metadata;  // of __metadata__; empty if there is none
};

/// Parses the bytes of a file strictly: a header of at most 1 MiB inside the file, at most 4,096 tensors of rank <= 8,
/// no duplicate key, offsets that cover the data without gap or overlap, F32, F16 or BF16. NaN and infinity are errors
/// unless allowed. Throws DataError naming `origin`, the tensor, what was expected and what was found. For another kind
/// of file (zip or pickle of PyTorch, ONNX, HTML, a Git LFS pointer) the message names the kind.
Safetensors parse_safetensors(const uint8_t* bytes, size_t size, const std::string& origin,
                              bool allow_non_finite = false);

/// Reads and parses a file. Throws like read_file() and parse_safetensors().
Safetensors read_safetensors(const std::string& path, bool allow_non_finite = false);

}  // namespace lenslet
