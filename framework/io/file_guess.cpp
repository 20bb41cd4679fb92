#include "framework/io/file_guess.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "framework/base/error.h"

namespace lenslet {

std::string guess_format(const uint8_t* bytes, size_t size, const std::string& checkpoint) {
  size = std::min(size, kGuessBytes);
  const std::string_view all(reinterpret_cast<const char*>(bytes), size);
  const auto starts = [](std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
  };
  if (starts(all, "PK\x03\x04")) return concat("a zip archive, as PyTorch's torch.save writes; ", checkpoint);
  if (size >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5)
    return concat("a Python pickle, as old PyTorch checkpoints are; ", checkpoint);
  if (starts(all, "version https://git-lfs"))
    return "a Git LFS pointer, not the file itself; fetch it with git lfs pull";
  if (starts(all, "\x89PNG\r\n")) return "a PNG picture";
  if (starts(all, "\xff\xd8\xff")) return "a JPEG picture";
  if (starts(all, "\x89HDF\r\n")) return "an HDF5 file, as Keras writes";
  if (starts(all, "\x93NUMPY")) return "a NumPy array file";
  if (starts(all, "GGUF")) return "a GGUF file";
  if (starts(all, "\x1f\x8b")) return "gzip data; decompress it first";
  // The header's length, below 16 MiB, in eight bytes, then the header.
  if (size > 8 && bytes[8] == '{' &&
      std::all_of(bytes + 3, bytes + 8, [](uint8_t byte) { return byte == 0; }))
    return kSafetensorsFile;
  size_t i = starts(all, "\xef\xbb\xbf") ? 3 : 0;  // a byte order mark
  while (i < size && std::isspace(bytes[i])) ++i;
  if (i < size && bytes[i] == '<') return "an HTML or XML page, perhaps a download that failed";
  if (i < size && bytes[i] == '{') return "plain JSON text";
  // A protobuf message: field 1 (ir_version, a small number), then field 2 (producer_name) or 7 (graph).
  const bool is_onnx = size >= 3 && bytes[0] == 0x08 && bytes[1] >= 1 && bytes[1] <= 32 &&
                       (bytes[2] == 0x12 || bytes[2] == 0x3a);
  return is_onnx ? kOnnxModel : "";
}

}  // namespace lenslet
