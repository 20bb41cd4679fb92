// Bytes to a file, for helpers that do without GoogleTest.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

namespace lenslet::test {

/// Writes a whole file. Throws std::runtime_error where that fails.
template <typename Bytes>
void write_bytes(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace lenslet::test
