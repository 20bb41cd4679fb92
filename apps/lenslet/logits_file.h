// Logits on disk, for comparison with other frameworks.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// Logits [count, classes] as the ending of `path` says: .npy (NumPy format 1.0), .safetensors (tensor
/// "logits"), else raw little-endian fp32. Throws OutputError.
void write_logits(const std::string& path, const std::vector<float>& logits, int classes);

}  // namespace lenslet
