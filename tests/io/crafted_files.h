// Valid and invalid files for the tests of readers, built byte by byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/io/picture.h"

namespace lenslet::test {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(const std::string& text);
Bytes operator+(Bytes a, const Bytes& b);
/// Bytes that differ from their neighbours, to tell places apart.
Bytes counting(size_t count);

/// A folder that is removed with its contents at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// The path of `name` within it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const Bytes& bytes) const;
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

/// IDX of unsigned bytes: 00 00 08 rank, the dimensions, the data.
Bytes idx(const std::vector<uint32_t>& dims, const Bytes& data);
/// One gzip member.
Bytes gzip(const Bytes& data, int level = 6);
/// One gzip member with MiB of zeros after the data, in far less time than gzip() takes.
Bytes gzip_with_zeros(const Bytes& data, size_t mib);

/// A safetensors file with this header and `data_bytes` zero bytes.
Bytes safetensors(const std::string& header, size_t data_bytes);
/// "name":{"dtype":…,"shape":[…],"data_offsets":[…]}
std::string tensor_entry(const std::string& name, const std::string& dtype, const std::string& shape,
                         const std::string& offsets);

struct PngSpec {
  uint32_t width = 0, height = 0;
  int depth = 8, colour = 0;
  bool interlaced = false;
  Bytes palette, transparency;  // chunks; empty ones are left out
};
Bytes png_chunk(const std::string& type, const Bytes& data);
/// Corrects the checksum of every chunk after the signature, so that damaged content reaches the decoders.
void mend_png_checksums(uint8_t* data, size_t size);
/// `rows`: the filtered rows, each starting with its filter's number, as the format compresses them; MiB of zeros
/// may follow.
Bytes png(const PngSpec& spec, const Bytes& rows, size_t zeros_mib = 0);
/// 8-bit grey, grey + alpha, RGB or RGBA.
Bytes png(const Picture& picture);

/// `picture`: 1 or 3 channels, or 4 for CMYK as Adobe stores it (0 is full ink).
Bytes jpeg(const Picture& picture, int quality, bool progressive = false, const Bytes& exif = {});
/// An Exif block that holds nothing but the orientation.
Bytes exif(int orientation, bool little_endian);

/// Headers of 14 + 40 bytes, then `palette` (4 bytes a colour) and `rows` (bottom-up, padded to 4 bytes).
Bytes bmp(int32_t width, int32_t height, int bits, const Bytes& palette, const Bytes& rows,
          uint32_t compression = 0);

/// Processor time of `call` in milliseconds. The smallest of five, because other programs on the same core lengthen
/// some.
double min_cpu_ms(const std::function<void()>& call);

Picture make_picture(int width, int height, int channels, const Bytes& pixels);

}  // namespace lenslet::test
