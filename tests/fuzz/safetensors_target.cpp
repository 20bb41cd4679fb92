// safetensors. The first bit of the first byte allows NaN and infinity. With its second bit the rest is a header
// without its length, followed by as many zero bytes of data as the second byte states, so that the parser after the
// length is reached.
#include "framework/io/safetensors.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

namespace lenslet::fuzz {
namespace {

// The same tensors as a file of F32.
Bytes written(const Safetensors& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [key, value] : file.metadata) header["__metadata__"][key] = value;
  Bytes values;
  for (const auto& [name, tensor] : file.tensors) {
    std::vector<int64_t> dims;
    for (int i = 0; i < tensor.shape().rank(); ++i) dims.push_back(tensor.shape()[i]);
    const size_t begin = values.size();
    values.resize(begin + tensor.shape().bytes());
    if (tensor.shape().bytes() > 0) std::memcpy(values.data() + begin, tensor.data(), tensor.shape().bytes());
    header[name] = {{"dtype", "F32"}, {"shape", dims}, {"data_offsets", {begin, values.size()}}};
  }
  using test::operator+;
  return test::safetensors(header.dump(), 0) + values;
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(safetensors) {
  Cursor input(data, size);
  const uint8_t mode = input.byte();
  const bool non_finite = mode & 1, framed = mode & 2;
  const size_t zeros = framed ? input.byte() : 0;
  const Bytes bytes = framed ? test::safetensors(text_of(input.data(), input.size()), zeros) : input.rest();
  Safetensors file;
  if (!accepts("file", [&] { file = parse_safetensors(bytes.data(), bytes.size(), "file", non_finite); }))
    return;
  check(!file.tensors.empty(), "there is a tensor");
  uint64_t elements = 0;
  for (const auto& [name, tensor] : file.tensors) {
    elements += static_cast<uint64_t>(tensor.shape().num_elements());
    for (int64_t i = 0; i < tensor.shape().num_elements(); ++i)
      check(non_finite || std::isfinite(tensor.data()[i]), "values are finite");
  }
  check(elements * 2 <= bytes.size(), "no more values than the file has bytes for");
  const Bytes copy = written(file);
  if (copy.size() > (1 << 20)) return;  // names with escapes may outgrow the header's bound
  const Safetensors again = parse_safetensors(copy.data(), copy.size(), "file", non_finite);
  check(written(again) == copy, "written and read again it is the same");
}

LENSLET_FUZZ_SEEDS(safetensors) {
  using test::operator+;
  using test::tensor_entry;
  const std::string a = tensor_entry("a", "F32", "2,2", "0,16"), b = tensor_entry("b", "F16", "3", "16,22");
  const std::string both = "{\"__metadata__\":{\"k\":\"v\"}," + a + "," + b + "}";
  Bytes half = test::safetensors("{" + tensor_entry("h", "F16", "4", "0,8") + "}", 0);
  half = half + Bytes{0, 0x3c, 0, 0x7c, 1, 0, 0, 0xfc};
  const auto framed = [](const std::string& header, uint8_t zeros) {
    return Bytes{2, zeros} + test::bytes_of(header);
  };
  return {Bytes{0} + test::safetensors(both, 22),
          Bytes{0} + half,
          Bytes{1} + half,
          framed(both, 22),
          framed("{" + tensor_entry("bf", "BF16", "1,1,1,1,1,1,1,2", "0,4") + "}", 4),
          framed("{" + tensor_entry("scalar", "F32", "", "0,4") + "}", 4),
          framed("{" + tensor_entry("empty", "F32", "0,7", "0,0") + "," + a + "}", 16),
          framed("{" + tensor_entry("none", "F32", "1152921504606846976,0", "0,0") + "," + a + "}", 16),
          framed("{" + tensor_entry("huge", "F32", "4294967296,4294967296", "0,16") + "}", 16),
          framed("{" + a + "," + a + "}", 16),
          framed("{" + tensor_entry("gap", "F32", "1", "4,8") + "}", 8),
          framed("{\"\\u00e9\\n\":" + a.substr(4) + "}", 16),
          framed("{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8),
          framed("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,1e3]}}", 8),
          framed("{" + a + "}" + std::string(1, '\0') + "," + b + "}", 22),
          Bytes{0} + test::bytes_of("PK\x03\x04 archive"),
          Bytes{0} + test::bytes_of("{\"plain\": \"JSON\"}")};
}
