#include "framework/io/picture.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/shell_word.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "framework/io/picture_decoders.h"

namespace lenslet {
namespace {

constexpr char kFormats[] = "PNG, JPEG, BMP or PNM";

struct Magic {
  const char* bytes;
  size_t length, offset;
  const char* name;
  // The ending of such a file for ImageMagick's convert, with [0] if it may hold several pictures; null if it holds no
  // photo.
  const char* convert = nullptr;
};

// Common formats that are refused by name. Lengths are explicit, because entries may contain zero bytes.
constexpr Magic kRefused[] = {
    {"WEBP", 4, 8, "WebP", ".webp"},
    {"GIF8", 4, 0, "GIF", ".gif[0]"},
    {"ftypheic", 8, 4, "HEIC", ".heic"},
    {"ftypheix", 8, 4, "HEIC", ".heic"},
    {"ftypheim", 8, 4, "HEIC", ".heic"},
    {"ftyphevc", 8, 4, "HEIC", ".heic"},
    {"ftypmif1", 8, 4, "HEIF", ".heif"},
    {"ftypavif", 8, 4, "AVIF", ".avif"},
    {"II*\0", 4, 0, "TIFF", ".tif[0]"},
    {"MM\0*", 4, 0, "TIFF", ".tif[0]"},
    {"II+\0", 4, 0, "TIFF", ".tif[0]"},
    {"MM\0+", 4, 0, "TIFF", ".tif[0]"},
    {"%PDF", 4, 0, "PDF"},
    {"8BPS", 4, 0, "Photoshop"},
    {"\0\0\1\0", 4, 0, "Windows icon"},
    {"\xff\x0a", 2, 0, "JPEG XL", ".jxl"},
    {"\0\0\0\x0cJXL ", 8, 0, "JPEG XL", ".jxl"},
    {"\0\0\0\x0cjP  ", 8, 0, "JPEG 2000", ".jp2"},
    {"\x76\x2f\x31\x01", 4, 0, "OpenEXR"},
    {"qoif", 4, 0, "QOI"},
    {"P7\n", 3, 0, "PAM"},
    {"PF\n", 3, 0, "PFM"},
    {"Pf\n", 3, 0, "PFM"},
    {"PK\x03\x04", 4, 0, "zip"},
    {"\x1f\x8b", 2, 0, "gzip"},
    {"\x7f"
     "ELF",
     4, 0, "ELF program"},
    {"\0\0\x08\x03", 4, 0, "IDX"},
    {"\0\0\x08\x01", 4, 0, "IDX label"},
    {"version https://git-lfs", 23, 0, "Git LFS pointer"},
};

bool has_magic(const std::vector<uint8_t>& bytes, const char* magic, size_t length, size_t offset = 0) {
  return bytes.size() >= offset + length && std::memcmp(bytes.data() + offset, magic, length) == 0;
}

// "convert 'my photo.heic' out.png". `path` may be empty.
std::string convert_command(std::string_view path, std::string_view ending) {
  const size_t frame = std::min(ending.find('['), ending.size());
  std::string word = path.empty()     ? concat("in", ending.substr(0, frame))
                     : path[0] == '-' ? concat("./", path)
                                      : std::string(path);
  word += ending.substr(frame);
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) || std::strchr("._/+-", c);
  });
  return concat("convert ", plain ? word : shell_word(word), " out.png");
}

// The likely format of a file that no decoder reads, with advice: "a WebP file; convert it …", "text". Empty if the
// format is unknown.
std::string refused_format(const std::vector<uint8_t>& bytes, const std::string& path) {
  for (const Magic& magic : kRefused) {
    if (has_magic(bytes, magic.bytes, magic.length, magic.offset)) {
      const bool vowel = std::strchr("AEIO", magic.name[0]) != nullptr;
      const std::string file = concat(vowel ? "an " : "a ", magic.name, " file");
      return magic.convert
                 ? concat(file, "; convert it with ImageMagick: ", convert_command(path, magic.convert))
                 : file;
    }
  }
  size_t i = 0, printable = 0;
  const size_t looked_at = bytes.size() < 512 ? bytes.size() : 512;
  while (i < looked_at && std::isspace(bytes[i])) ++i;
  const bool markup = i < looked_at && bytes[i] == '<';
  for (size_t k = 0; k < looked_at; ++k) printable += bytes[k] >= 0x20 || std::isspace(bytes[k]);
  if (printable < looked_at) return "";
  if (!markup) return "text";
  const std::string head(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(looked_at));
  return head.find("<svg") != std::string::npos ? "an SVG drawing" : "an HTML or XML page";
}

uint64_t big_endian(const uint8_t* bytes, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

constexpr uint64_t kSmallPixels = 512 * 512;  // about 4 MiB to decode and prepare, 16 bytes a pixel

bool is_small(uint64_t width, uint64_t height) { return width * height <= kSmallPixels; }  // both below 2^32

// Reads the size from the first frame header (SOFn).
bool is_small_jpeg(const std::vector<uint8_t>& bytes) {
  for (size_t at = 2; at + 9 <= bytes.size() && bytes[at] == 0xff;) {
    const uint8_t marker = bytes[at + 1];
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) return is_small(big_endian(&bytes[at + 7], 2), big_endian(&bytes[at + 5], 2));
    at += 2 + big_endian(&bytes[at + 2], 2);
  }
  return false;
}

}  // namespace

const char* picture_formats() { return kFormats; }

PictureLimits PictureLimits::up_to(int64_t pixels, const char* option) {
  // Largest file: 16-bit raw RGB has 6 bytes per pixel, and so has RGB as text of one-digit samples.
  constexpr size_t kFileBytes = 6, kHeaderBytes = 1 << 16;
  // The PNG reader needs the most memory, for interlaced 16-bit RGBA. A pixel takes 8 bytes in the filtered rows, plus
  // one byte a row, which may have a single pixel, and 8 bytes as samples; interlacing doubles both. The result has 4.
  constexpr size_t kDecodeBytes = 2 * (8 + 1) + 2 * 8 + 4;
  PictureLimits limits;
  limits.option = option;
  limits.max_pixels = std::clamp<int64_t>(pixels, 1, kMaxPixels);
  const auto count = static_cast<size_t>(limits.max_pixels);
  limits.max_file_bytes = std::max(limits.max_file_bytes, kFileBytes * count + kHeaderBytes);
  limits.max_decode_bytes = std::max(limits.max_decode_bytes, kDecodeBytes * count);
  return limits;
}

void check_picture_size(uint64_t width, uint64_t height, double bytes_per_pixel, const std::string& origin,
                        const PictureLimits& limits) {
  const std::string remedy = concat("; scale it down, or raise the limit",
                                    limits.option ? concat(" (", limits.option, ")") : std::string());
  if (width == 0 || height == 0)
    throw DataError(
        concat(origin, ": the picture is ", width, "x", height, " pixels, expected at least 1x1"));
  const auto max_pixels = static_cast<uint64_t>(limits.max_pixels);
  if (width > max_pixels || height > max_pixels / width) {
    throw DataError(concat(origin, ": the picture is ", width, "x", height, " pixels, expected at most ",
                           max_pixels, remedy));
  }
  const double needed = bytes_per_pixel * static_cast<double>(width) * static_cast<double>(height);
  if (needed > static_cast<double>(limits.max_decode_bytes)) {
    throw DataError(concat(origin, ": the picture is ", width, "x", height, " pixels and takes ",
                           static_cast<uint64_t>(needed), " bytes to decode, expected at most ",
                           limits.max_decode_bytes, remedy));
  }
}

Picture decode_picture(const std::vector<uint8_t>& bytes, const std::string& origin,
                       const PictureLimits& limits, const std::string& path) {
  if (bytes.empty())
    throw DataError(concat(origin, ": the file is empty, expected a ", kFormats, " picture"));
  if (bytes.size() > limits.max_file_bytes) {
    throw DataError(concat(origin, ": the file has ", bytes.size(), " bytes, expected at most ",
                           limits.max_file_bytes, " for a picture"));
  }
  if (has_magic(bytes, "\x89PNG\r\n\x1a\n", 8)) return decode_png(bytes, origin, limits);
  if (has_magic(bytes, "\xff\xd8\xff", 3)) return decode_jpeg(bytes, origin, limits);
  if (bytes.size() >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
      (std::isspace(bytes[2]) || bytes[2] == '#')) {
    return decode_pnm(bytes, origin, limits);
  }
  const std::string guess = refused_format(bytes, path);
  if (has_magic(bytes, "BM", 2) && guess != "text") return decode_bmp(bytes, origin, limits);
  throw DataError(concat(origin, ": expected a ", kFormats, " picture, found ",
                         guess.empty() ? "an unknown format" : guess));
}

bool is_small_picture(const std::vector<uint8_t>& bytes) {
  constexpr size_t kSmallFile = 256 << 10;  // a netpbm bitmap of that size has 2 Mi pixels
  if (bytes.size() > kSmallFile) return false;
  if (bytes.size() < 26) return true;  // too short for a large picture
  const uint8_t* const head = bytes.data();
  if (has_magic(bytes, "\x89PNG", 4)) return is_small(big_endian(head + 16, 4), big_endian(head + 20, 4));
  if (has_magic(bytes, "\xff\xd8", 2)) return is_small_jpeg(bytes);
  // A netpbm file has at least one byte per eight pixels; other formats are refused without decoding.
  return !has_magic(bytes, "BM", 2);
}

Picture read_picture(const std::string& path, const PictureLimits& limits) {
  return decode_picture(read_file(path, limits.max_file_bytes), name_in_errors(path), limits,
                        path == "-" ? std::string() : path);
}

}  // namespace lenslet
