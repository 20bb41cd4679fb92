// Guesses the format of a file that is no model: a checkpoint, another format, a failed download.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lenslet {

/// What guess_format() returns for an ONNX model.
inline constexpr char kOnnxModel[] = "an ONNX model";
/// What it returns for weights.
inline constexpr char kSafetensorsFile[] = "a safetensors file";
/// The most bytes of a file that guess_format() reads.
inline constexpr size_t kGuessBytes = 128;

/// The likely format of a file by its first bytes, with advice: "a Git LFS pointer, not the file itself; fetch it with
/// git lfs pull", kOnnxModel or kSafetensorsFile. `checkpoint` is the advice for files of torch.save. Empty if the
/// format is unknown.
std::string guess_format(const uint8_t* bytes, size_t size, const std::string& checkpoint);

}  // namespace lenslet
