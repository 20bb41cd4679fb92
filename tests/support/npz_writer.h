// Writes .npy and .npz files for tests.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace lenslet::test {

inline std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

/// The bytes of an array; `values` has them in little-endian order.
inline std::string npy(const std::string& type, const std::vector<int64_t>& dims, const std::string& values) {
  std::string shape;
  for (const int64_t dim : dims) shape += std::to_string(dim) + ",";
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  return std::string("\x93NUMPY\x01\0", 8) + little_endian(header.size(), 2) + header + values;
}

template <class Value>
std::string npy(const std::string& type, const std::vector<int64_t>& dims, const std::vector<Value>& values) {
  return npy(type, dims,
             std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)));
}

/// A ZIP archive of members, by name with ".npy".
class NpzWriter {
 public:
  NpzWriter& add(const std::string& name, const std::string& content) {
    return add(name, 0, content, crc_of(content), content.size());
  }
  /// Compressed; `stated`: the size that the archive states.
  NpzWriter& add_deflated(const std::string& name, const std::string& content, uint64_t stated) {
    std::string packed(content.size() + 100, '\0');
    z_stream stream{};
    ::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    ::deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    ::deflateEnd(&stream);
    return add(name, 8, packed, crc_of(content), stated);
  }
  std::string bytes() const {
    return members_ + directory_ + little_endian(0x06054b50, 4) + little_endian(0, 4) +
           little_endian(count_, 2) + little_endian(count_, 2) + little_endian(directory_.size(), 4) +
           little_endian(members_.size(), 4) + little_endian(0, 2);
  }
  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

 private:
  static uint64_t crc_of(const std::string& content) {
    return ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  }
  NpzWriter& add(const std::string& name, uint64_t method, const std::string& packed, uint64_t crc,
                 uint64_t stated) {
    const std::string common = little_endian(0, 2) + little_endian(method, 2) + little_endian(0, 4) +
                               little_endian(crc, 4) + little_endian(packed.size(), 4) +
                               little_endian(stated, 4) + little_endian(name.size(), 2) + little_endian(0, 2);
    directory_ += little_endian(0x02014b50, 4) + little_endian(20, 2) + little_endian(20, 2) + common +
                  little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 4) +
                  little_endian(members_.size(), 4) + name;
    members_ += little_endian(0x04034b50, 4) + little_endian(20, 2) + common + name + packed;
    ++count_;
    return *this;
  }

  std::string members_, directory_;
  uint64_t count_ = 0;
};

}  // namespace lenslet::test
