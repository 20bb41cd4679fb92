#include "tests/io/crafted_files.h"

#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <stdexcept>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>
#include <zlib.h>

#include "tests/support/write_bytes.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

void put(Bytes& out, uint64_t value, int bytes, bool big) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> 8 * (big ? bytes - 1 - i : i)));
}

Bytes deflated(const Bytes& data, int window_bits, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  Bytes out(deflateBound(&stream, static_cast<uLong>(data.size())) + 64);
  stream.next_in = const_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// As gzip or zlib with MiB of zeros after `data`. Every MiB is the same block, so that only one is compressed.
Bytes deflated_with_zeros(const Bytes& data, size_t zeros_mib, bool as_gzip) {
  constexpr uInt kMib = 1u << 20;
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  const auto block_of = [&](const Bytes& bytes, int flush) {
    Bytes block(bytes.size() + 4096);
    stream.next_in = const_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = block.data();
    stream.avail_out = static_cast<uInt>(block.size());
    deflate(&stream, flush);
    block.resize(block.size() - stream.avail_out);
    return block;
  };
  const Bytes zeros(kMib), first = block_of(data, Z_FULL_FLUSH), again = block_of(zeros, Z_FULL_FLUSH),
                           last = block_of({}, Z_FINISH);
  deflateEnd(&stream);
  const auto size = static_cast<uInt>(data.size());
  const uLong seed = as_gzip ? crc32(0, nullptr, 0) : adler32(0, nullptr, 0);
  const auto sum_of = [&](const Bytes& bytes) {
    const auto count = static_cast<uInt>(bytes.size());
    return as_gzip ? crc32(seed, bytes.data(), count) : adler32(seed, bytes.data(), count);
  };
  uLong sum = size == 0 ? seed : sum_of(data);
  const uLong more = sum_of(zeros);
  Bytes out = as_gzip ? Bytes{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3} : Bytes{0x78, 0xda};
  out = out + first;
  for (size_t i = 0; i < zeros_mib; ++i) {
    out.insert(out.end(), again.begin(), again.end());
    sum = as_gzip ? crc32_combine(sum, more, kMib) : adler32_combine(sum, more, kMib);
  }
  out = out + last;
  put(out, sum, 4, !as_gzip);
  if (as_gzip) put(out, (data.size() + zeros_mib * kMib) & 0xffffffff, 4, false);
  return out;
}

}  // namespace

Bytes bytes_of(const std::string& text) { return Bytes(text.begin(), text.end()); }

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes counting(size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 % 251);
  return bytes;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "lenslet-io-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms::owner_all, ignored);
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const Bytes& bytes) const {
  std::string path = path_ + "/" + name;
  write_bytes(path, bytes);
  return path;
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  return names;
}

Bytes idx(const std::vector<uint32_t>& dims, const Bytes& data) {
  Bytes out = {0, 0, 8, static_cast<uint8_t>(dims.size())};
  for (const uint32_t dim : dims) put(out, dim, 4, true);
  return out + data;
}

Bytes gzip(const Bytes& data, int level) { return deflated(data, 15 + 16, level); }
Bytes gzip_with_zeros(const Bytes& data, size_t mib) { return deflated_with_zeros(data, mib, true); }

Bytes safetensors(const std::string& header, size_t data_bytes) {
  Bytes out;
  put(out, header.size(), 8, false);
  return out + bytes_of(header) + Bytes(data_bytes, 0);
}

std::string tensor_entry(const std::string& name, const std::string& dtype, const std::string& shape,
                         const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
         offsets + "]}";
}

Bytes png_chunk(const std::string& type, const Bytes& data) {
  Bytes out;
  put(out, data.size(), 4, true);
  const Bytes body = bytes_of(type) + data;
  out = out + body;
  put(out, crc32(0, body.data(), static_cast<uInt>(body.size())), 4, true);
  return out;
}

void mend_png_checksums(uint8_t* data, size_t size) {
  constexpr size_t kSignature = 8, kFrame = 12;  // of a chunk: length, type, checksum
  for (size_t at = kSignature; at + kFrame <= size;) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | data[at + i];
    if (length > size - at - kFrame) return;
    const uLong checksum = crc32(0, data + at + 4, static_cast<uInt>(length + 4));
    at += kFrame + length;
    for (size_t i = 1; i <= 4; ++i) data[at - i] = static_cast<uint8_t>(checksum >> 8 * (i - 1));
  }
}

Bytes png(const PngSpec& spec, const Bytes& rows, size_t zeros_mib) {
  Bytes header;
  put(header, spec.width, 4, true);
  put(header, spec.height, 4, true);
  header = header + Bytes{static_cast<uint8_t>(spec.depth), static_cast<uint8_t>(spec.colour), 0, 0,
                          static_cast<uint8_t>(spec.interlaced)};
  Bytes out = bytes_of("\x89PNG\r\n\x1a\n") + png_chunk("IHDR", header);
  if (!spec.palette.empty()) out = out + png_chunk("PLTE", spec.palette);
  if (!spec.transparency.empty()) out = out + png_chunk("tRNS", spec.transparency);
  return out +
         png_chunk("IDAT",
                   zeros_mib > 0 ? deflated_with_zeros(rows, zeros_mib, false) : deflated(rows, 15, 6)) +
         png_chunk("IEND", {});
}

Bytes png(const Picture& picture) {
  constexpr int kColours[] = {0, 0, 4, 2, 6};
  PngSpec spec;
  spec.width = static_cast<uint32_t>(picture.width);
  spec.height = static_cast<uint32_t>(picture.height);
  spec.colour = kColours[picture.channels];
  Bytes rows;
  const auto row_bytes = static_cast<std::ptrdiff_t>(picture.width) * picture.channels;
  for (int y = 0; y < picture.height; ++y) {
    rows.push_back(0);
    rows.insert(rows.end(), picture.pixels.begin() + y * row_bytes,
                picture.pixels.begin() + (y + 1) * row_bytes);
  }
  return png(spec, rows);
}

Bytes jpeg(const Picture& picture, int quality, bool progressive, const Bytes& exif_block) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr) { std::abort(); };  // a test's own mistake
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = picture.channels;
  info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : picture.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (!exif_block.empty())
    jpeg_write_marker(&info, JPEG_APP0 + 1, exif_block.data(), static_cast<unsigned>(exif_block.size()));
  while (info.next_scanline < info.image_height) {
    JSAMPROW row =
        const_cast<JSAMPROW>(&picture.pixels[info.next_scanline * static_cast<size_t>(picture.width) *
                                             static_cast<size_t>(picture.channels)]);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes out(buffer, buffer + size);
  std::free(buffer);
  return out;
}

Bytes exif(int orientation, bool little_endian) {
  Bytes out = {'E', 'x', 'i', 'f', 0, 0};
  const bool big = !little_endian;
  out = out + bytes_of(big ? "MM" : "II");
  put(out, 42, 2, big);
  put(out, 8, 4, big);       // the directory follows
  put(out, 1, 2, big);       // of one entry
  put(out, 0x0112, 2, big);  // orientation
  put(out, 3, 2, big);       // short
  put(out, 1, 4, big);       // one
  put(out, static_cast<uint64_t>(orientation), 2, big);
  put(out, 0, 2, big);
  put(out, 0, 4, big);  // no next directory
  return out;
}

Bytes bmp(int32_t width, int32_t height, int bits, const Bytes& palette, const Bytes& rows,
          uint32_t compression) {
  Bytes out = {'B', 'M'};
  const size_t offset = 14 + 40 + palette.size();
  put(out, offset + rows.size(), 4, false);
  put(out, 0, 4, false);
  put(out, offset, 4, false);
  put(out, 40, 4, false);
  put(out, static_cast<uint32_t>(width), 4, false);
  put(out, static_cast<uint32_t>(height), 4, false);
  put(out, 1, 2, false);
  put(out, static_cast<uint64_t>(bits), 2, false);
  put(out, compression, 4, false);
  put(out, rows.size(), 4, false);
  put(out, 2835, 4, false);
  put(out, 2835, 4, false);
  put(out, compression == 0 ? palette.size() / 4 : 0, 4, false);
  put(out, 0, 4, false);
  return out + palette + rows;
}

double min_cpu_ms(const std::function<void()>& call) {
  std::clock_t min_clocks = std::numeric_limits<std::clock_t>::max();
  for (int i = 0; i < 5; ++i) {
    const std::clock_t start = std::clock();
    call();
    min_clocks = std::min(min_clocks, std::clock() - start);
  }
  return 1e3 * static_cast<double>(min_clocks) / CLOCKS_PER_SEC;
}

Picture make_picture(int width, int height, int channels, const Bytes& pixels) {
  Picture picture;
  picture.width = width;
  picture.height = height;
  picture.channels = channels;
  picture.pixels = pixels;
  picture.format = "made";
  return picture;
}

}  // namespace lenslet::test
