// Source: W3C, "Portable Network Graphics (PNG) Specification", second edition, sections 5, 9 and 11.
#include "framework/io/png_writer.h"

#include <zlib.h>

#include <cstdlib>

#include "framework/base/error.h"

namespace lenslet {
namespace {

enum RowFilter : char { kNone = 0, kSub = 1, kUp = 2 };

void append_big_endian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

// Length, type, data, CRC of type and data (section 5.3).
void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  append_big_endian(out, static_cast<uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  append_big_endian(out, static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                       static_cast<uInt>(body.size()))));
}

// Colour types by number of channels (section 11.2.2).
char colour_type(int channels) {
  constexpr char kTypes[] = {0, 4, 2, 6};
  return kTypes[channels - 1];
}

// Each row as differences from the row above or from the pixel before, whichever have the smaller sum (section 12.8).
std::string filtered_rows(const Picture& picture) {
  const size_t step = static_cast<size_t>(picture.channels),
               length = step * static_cast<size_t>(picture.width);
  const std::vector<uint8_t> before_first(length, 0);
  std::string rows;
  rows.reserve((length + 1) * static_cast<size_t>(picture.height));
  std::string best, candidate(length, '\0');
  for (size_t y = 0; y < static_cast<size_t>(picture.height); ++y) {
    const uint8_t* row = picture.pixels.data() + y * length;
    const uint8_t* above = y > 0 ? row - length : before_first.data();
    long best_sum = -1;
    char best_filter = kNone;
    for (const char filter : {kNone, kSub, kUp}) {
      long sum = 0;
      for (size_t i = 0; i < length; ++i) {
        const int left = i < step ? 0 : row[i - step];
        const int difference = row[i] - (filter == kNone ? 0 : filter == kSub ? left : above[i]);
        candidate[i] = static_cast<char>(difference);
        sum += std::abs(static_cast<signed char>(candidate[i]));
      }
      if (best_sum >= 0 && sum >= best_sum) continue;
      best_sum = sum;
      best_filter = filter;
      best = candidate;
    }
    rows += best_filter;
    rows += best;
  }
  return rows;
}

}  // namespace

std::string encode_png(const Picture& picture) {
  const uint64_t wanted = uint64_t(picture.width) * uint64_t(picture.height) * uint64_t(picture.channels);
  if (picture.width < 1 || picture.height < 1 || picture.channels < 1 || picture.channels > 4 ||
      picture.pixels.size() != wanted) {
    throw DataError(concat("a PNG needs at least 1x1 pixels of 1 to 4 channels, found ", picture.width, "x",
                           picture.height, "x", picture.channels, " and ", picture.pixels.size(), " values"));
  }
  const std::string rows = filtered_rows(picture);
  uLongf size = ::compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  if (::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                 static_cast<uLong>(rows.size())) != Z_OK) {
    throw MemoryError("out of memory while compressing a picture");
  }
  packed.resize(size);
  if (packed.size() > INT32_MAX) {
    throw DataError(
        concat("a PNG chunk holds up to ", INT32_MAX, " bytes, the picture takes ", packed.size()));
  }
  std::string header;
  append_big_endian(header, static_cast<uint32_t>(picture.width));
  append_big_endian(header, static_cast<uint32_t>(picture.height));
  header += '\x08';  // bits a channel
  header += colour_type(picture.channels);
  header += std::string(3, '\0');  // deflate, the five row filters, not interlaced
  std::string out = "\x89PNG\r\n\x1a\n";
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", packed);
  append_chunk(out, "IEND", {});
  return out;
}

}  // namespace lenslet
