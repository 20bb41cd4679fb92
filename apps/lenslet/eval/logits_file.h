// Logits on disk, for comparison with other frameworks.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// Writes logits [count, classes] in the format of the ending of `path`: .npy (NumPy format 1.0), .safetensors (tensor
/// "logits"), else raw little-endian fp32. Throws OutputError.
void write_logits(const std::string& path, const std::vector<float>& logits, int classes);

}  // namespace lenslet
