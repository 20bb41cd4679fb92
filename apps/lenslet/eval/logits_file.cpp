#include "apps/lenslet/eval/logits_file.h"

#include <cstdint>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

// Magic, version 1.0, length of the rest, and a Python dictionary, padded so that the data start at a multiple of 64.
std::string npy_header(size_t rows, int classes) {
  constexpr size_t kPreamble = 10, kAlign = 64;
  std::string dictionary =
      concat("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ", classes, "), }");
  const size_t unpadded = kPreamble + dictionary.size() + 1;
  dictionary += std::string((kAlign - unpadded % kAlign) % kAlign, ' ') + "\n";
  std::string header("\x93NUMPY\x01\0", 8);
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

std::string safetensors_header(size_t rows, int classes) {
  const size_t bytes = rows * static_cast<size_t>(classes) * sizeof(float);
  std::string json = concat("{\"logits\":{\"dtype\":\"F32\",\"shape\":[", rows, ",", classes,
                            "],\"data_offsets\":[0,", bytes, "]}}");
  json += std::string((8 - json.size() % 8) % 8, ' ');
  std::string header;
  for (int i = 0; i < 8; ++i)
    header += static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i) & 0xff);
  return header + json;
}

}  // namespace

void write_logits(const std::string& path, const std::vector<float>& logits, int classes) {
  const size_t rows = logits.size() / static_cast<size_t>(classes);
  std::string header;
  if (ends_with(path, ".npy")) header = npy_header(rows, classes);
  if (ends_with(path, ".safetensors")) header = safetensors_header(rows, classes);
  OutputFile sink(path);
  sink.write(header);
  sink.write(std::string(reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float)));
  sink.commit();
}

}  // namespace lenslet
