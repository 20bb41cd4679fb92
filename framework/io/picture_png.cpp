// PNG: the chunks are checked here (order, lengths, CRC-32, sizes against limits), the pixels are decoded by
// stb_image. Source: W3C, "Portable Network Graphics (PNG) Specification", second edition, sections 5 and 11.
// stb_image checks no CRC, reads the palette past its end and follows chunks that it does not need. So it gets a new
// file: header, palette filled up to 256 colours, transparency, one chunk of data, end.

#include <zlib.h>

#include <algorithm>

#include "framework/base/error.h"
#include "framework/io/picture_decoders.h"
#include "framework/io/stb_png.h"

namespace lenslet {
namespace {

constexpr size_t kSignature = 8, kChunkFrame = 12;  // length, type and CRC are 4 bytes each
constexpr size_t kHeaderBytes = 13;
constexpr size_t kPaletteBytes = 3 * 256;
constexpr size_t kBudgetSlack = 64 << 10;  // bytes for stb_image's own tables and its smallest buffers

uint32_t big(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

void put_big(std::vector<uint8_t>& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(value >> shift));
}

void put_chunk(std::vector<uint8_t>& out, const char* type, const std::vector<uint8_t>& data) {
  put_big(out, static_cast<uint32_t>(data.size()));
  out.insert(out.end(), type, type + 4);
  out.insert(out.end(), data.begin(), data.end());
  put_big(out, 0);  // the CRC was checked before; stb_image ignores it
}

struct Header {
  uint32_t width = 0, height = 0;
  int depth = 0, colour = 0;
  bool interlaced = false;
  bool palette() const { return colour == 3; }
  uint64_t samples() const { return colour == 2 ? 3 : colour == 6 ? 4 : colour == 4 ? 2 : 1; }
};

struct Chunks {
  Header header;
  std::vector<uint8_t> header_bytes, palette, transparency, data;
};

Header parse_header(const uint8_t* p, const std::string& origin) {
  Header h;
  h.width = big(p);
  h.height = big(p + 4);
  h.depth = p[8];
  h.colour = p[9];
  const bool depth_fits = h.colour == 0
                              ? h.depth == 1 || h.depth == 2 || h.depth == 4 || h.depth == 8 || h.depth == 16
                          : h.colour == 3 ? h.depth == 1 || h.depth == 2 || h.depth == 4 || h.depth == 8
                          : h.colour == 2 || h.colour == 4 || h.colour == 6 ? h.depth == 8 || h.depth == 16
                                                                            : false;
  if (!depth_fits)
    throw DataError(
        concat(origin, ": PNG: colour type ", h.colour, " with ", h.depth, " bits is invalid in PNG"));
  if (p[10] != 0 || p[11] != 0 || p[12] > 1) {
    throw DataError(concat(origin, ": PNG: compression ", int{p[10]}, ", filter ", int{p[11]}, ", interlace ",
                           int{p[12]}, ", expected 0, 0 and 0 or 1"));
  }
  h.interlaced = p[12] == 1;
  return h;
}

// Reads the chunks up to IEND. Bytes after IEND are no part of the picture, and ignored.
Chunks read_chunks(const std::vector<uint8_t>& bytes, const std::string& origin) {
  const auto bad = [&](const auto&... what) { return DataError(concat(origin, ": PNG: ", what...)); };
  Chunks chunks;
  bool data_ended = false;
  for (size_t position = kSignature;;) {
    const size_t left = bytes.size() - position;
    if (left < kChunkFrame) throw bad("truncated: ", bytes.size(), " bytes, the IEND chunk is missing");
    const uint64_t length = big(&bytes[position]);
    const uint8_t* const body = bytes.data() + position + 8;
    const std::string type(bytes.begin() + static_cast<std::ptrdiff_t>(position) + 4,
                           bytes.begin() + static_cast<std::ptrdiff_t>(position) + 8);
    if (!std::all_of(type.begin(), type.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); })) {
      throw bad("damaged: expected a chunk type of four letters at byte ", position + 4);
    }
    if (length > left - kChunkFrame) {
      throw bad("truncated in chunk ", type, ": ", left - kChunkFrame, " of ", length, " bytes");
    }
    if (crc32(crc32(0, nullptr, 0), body - 4, static_cast<uInt>(length + 4)) != big(body + length)) {
      throw bad("damaged: the checksum of chunk ", type, " at byte ", position, " does not match");
    }
    const bool first = chunks.header_bytes.empty();
    if (first != (type == "IHDR"))
      throw bad("expected one IHDR chunk, at the start, found ", type, " at byte ", position);
    if (first) {
      if (length != kHeaderBytes) throw bad("the header has ", length, " bytes, expected ", kHeaderBytes);
      chunks.header = parse_header(body, origin);
      chunks.header_bytes.assign(body, body + length);
    } else if (type == "PLTE") {
      if (!chunks.palette.empty() || !chunks.data.empty() || length == 0 || length % 3 != 0 ||
          length > kPaletteBytes) {
        throw bad("the palette has ", length,
                  " bytes; expected one of 3 to 768 bytes, a multiple of 3, before the data");
      }
      chunks.palette.assign(body, body + length);
    } else if (type == "tRNS") {
      const uint64_t limit =
          chunks.header.palette() ? chunks.palette.size() / 3 : 2 * chunks.header.samples();
      const bool fits = chunks.header.palette() ? length >= 1 && length <= limit
                                                : chunks.header.colour < 3 && length == limit;
      if (!fits || !chunks.transparency.empty() || !chunks.data.empty())
        throw bad("transparency chunk of ", length,
                  " bytes; expected one of the colour type's size, before the data");
      chunks.transparency.assign(body, body + length);
    } else if (type == "IDAT") {
      if (data_ended) throw bad("expected consecutive IDAT chunks, found others between them");
      chunks.data.insert(chunks.data.end(), body, body + length);
    } else if (type == "IEND") {
      break;
    } else if (!(type[0] & 0x20)) {
      throw bad("unknown critical chunk ", type);
    }
    data_ended = !chunks.data.empty() && type != "IDAT";
    position += kChunkFrame + length;
  }
  if (chunks.data.empty()) throw bad("expected an IDAT chunk, found none");
  if (chunks.header.palette() && chunks.palette.empty()) throw bad("the palette is missing");
  return chunks;
}

}  // namespace

Picture decode_png(const std::vector<uint8_t>& bytes, const std::string& origin,
                   const PictureLimits& limits) {
  if (bytes.size() >= kSignature + kChunkFrame + kHeaderBytes && bytes[12] == 'I' && bytes[13] == 'H') {
    // Checks the size first, so that a picture that is too large is refused before its data is read.
    check_picture_size(big(&bytes[16]), big(&bytes[20]), 0, origin, limits);
  }
  Chunks chunks = read_chunks(bytes, origin);
  const Header& h = chunks.header;

  // stb_image allocates: filtered rows, twice if interlaced (its first guess is too small), then the samples, then the
  // colours of a palette or the conversion of 16 bits to 8.
  const uint64_t pixels = uint64_t{h.width} * h.height;
  check_picture_size(h.width, h.height, 0, origin, limits);
  const uint64_t row = (uint64_t{h.width} * static_cast<uint64_t>(h.depth) + 7) / 8 * h.samples() + 1;
  const uint64_t filtered = row * h.height * (h.interlaced ? 2 : 1);
  const uint64_t out_channels =
      h.palette() ? (chunks.transparency.empty() ? 3 : 4) : h.samples() + !chunks.transparency.empty();
  const uint64_t wide = h.depth == 16 ? 2 : 1;
  const uint64_t samples = pixels * wide * (h.palette() ? 1 : out_channels);
  const uint64_t expanded = h.palette() || wide == 2 ? pixels * out_channels : 0;
  const uint64_t budget =
      std::max(chunks.data.size() + filtered, filtered + samples * (h.interlaced ? 2 : 1) + expanded);
  const uint64_t needed = std::max(budget, 2 * pixels * out_channels);  // the result is copied once
  check_picture_size(h.width, h.height, static_cast<double>(needed) / static_cast<double>(pixels), origin,
                     limits);
  // Deflate adds 5 bytes per 16 KiB of incompressible data; a longer stream contains more than the picture.
  if (chunks.data.size() > filtered + filtered / 1024 + 1024) {
    throw DataError(concat(origin, ": PNG: ", chunks.data.size(), " bytes of data for a picture that takes ",
                           filtered, " uncompressed"));
  }

  std::vector<uint8_t> clean(bytes.begin(), bytes.begin() + kSignature);
  put_chunk(clean, "IHDR", chunks.header_bytes);
  if (h.palette()) {
    chunks.palette.resize(kPaletteBytes);
    put_chunk(clean, "PLTE", chunks.palette);
  }
  if (!chunks.transparency.empty()) put_chunk(clean, "tRNS", chunks.transparency);
  put_chunk(clean, "IDAT", chunks.data);
  put_chunk(clean, "IEND", {});
  std::vector<uint8_t>().swap(chunks.data);

  Picture picture;
  picture.format = "PNG";
  picture.width = static_cast<int>(h.width);
  picture.height = static_cast<int>(h.height);
  const std::string reason = stb_decode_png(clean, budget + kBudgetSlack, picture.channels, picture.pixels);
  if (reason == "outofmem") {
    throw DataError(concat(origin, ": PNG: the data expand to more than the ", h.width, "x", h.height,
                           " pixels that the header states"));
  }
  if (reason == "not enough pixels") {
    throw DataError(concat(origin, ": PNG: truncated: the data end before the last of ", h.width, "x",
                           h.height, " pixels"));
  }
  if (!reason.empty()) throw DataError(concat(origin, ": PNG: damaged: ", reason));
  return picture;
}

}  // namespace lenslet
