// BMP: uncompressed 1, 4, 8 (palette), 16, 24 and 32 bits, bottom-up or top-down, with bit fields; no RLE.
// Source: Microsoft, "Bitmap storage" (BITMAPFILEHEADER of 14 bytes, then a header of 12, 40, 52, 56, 64, 108 or 124).

#include <algorithm>
#include <array>

#include "framework/base/error.h"
#include "framework/io/picture_decoders.h"

namespace lenslet {
namespace {

constexpr size_t kFileHeader = 14;

struct Field {
  uint32_t mask = 0;
  int shift = 0;
  uint32_t max = 0;

  explicit Field(uint32_t m = 0) : mask(m) {
    if (m == 0) return;
    while (!(m >> shift & 1)) ++shift;
    max = m >> shift;
  }
  bool contiguous() const { return (uint64_t{max} & (uint64_t{max} + 1)) == 0; }
  uint8_t of(uint32_t pixel) const {
    return max == 0 ? 0 : static_cast<uint8_t>((uint64_t{(pixel & mask) >> shift} * 255 + max / 2) / max);
  }
};

uint32_t little(const uint8_t* p, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint32_t{p[i]} << (8 * i);
  return value;
}

const char* compression_name(uint32_t compression) {
  constexpr const char* kNames[] = {"none", "RLE8", "RLE4", "bit fields", "JPEG", "PNG", "alpha bit fields"};
  return compression < 7 ? kNames[compression] : "unknown";
}

}  // namespace

Picture decode_bmp(const std::vector<uint8_t>& bytes, const std::string& origin,
                   const PictureLimits& limits) {
  const auto bad = [&](const auto&... what) { return DataError(concat(origin, ": BMP: ", what...)); };
  const auto need = [&](uint64_t end, const char* what) {
    if (bytes.size() < end)
      throw bad("truncated in ", what, ": ", bytes.size(), " of at least ", end, " bytes");
  };
  need(kFileHeader + 4, "the header");
  const uint32_t data_offset = little(&bytes[10], 4), header_bytes = little(&bytes[14], 4);
  bool known = false;
  for (const uint32_t size : {12u, 40u, 52u, 56u, 64u, 108u, 124u}) known = known || header_bytes == size;
  if (!known) throw bad("header of ", header_bytes, " bytes, expected 12, 40, 52, 56, 64, 108 or 124");
  need(kFileHeader + header_bytes, "the header");

  const bool core = header_bytes == 12;
  int64_t width = 0, height = 0;
  if (core) {
    width = little(&bytes[18], 2);
    height = little(&bytes[20], 2);
  } else {
    width = static_cast<int32_t>(little(&bytes[18], 4));
    height = static_cast<int32_t>(little(&bytes[22], 4));
  }
  const uint32_t planes = little(&bytes[core ? 22 : 26], 2), bits = little(&bytes[core ? 24 : 28], 2);
  const uint32_t compression = core ? 0 : little(&bytes[30], 4),
                 stated_colours = core ? 0 : little(&bytes[46], 4);
  const bool top_down = height < 0;
  if (top_down) height = -height;
  if (width < 0) throw bad("width ", width, ", expected at least 1");
  if (planes != 1) throw bad(planes, " planes, expected 1");
  if (bits != 1 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32) {
    throw bad(bits, " bits a pixel, expected 1, 4, 8, 16, 24 or 32");
  }
  const bool bit_fields = compression == 3 || compression == 6;
  if (compression != 0 && !bit_fields) {
    throw bad("unsupported compression ", compression_name(compression), " (", compression,
              "); save it uncompressed or as PNG");
  }
  if (bit_fields && bits != 16 && bits != 32)
    throw bad("bit fields with ", bits, " bits a pixel, expected 16 or 32");
  check_picture_size(static_cast<uint64_t>(width), static_cast<uint64_t>(height), 4, origin, limits);

  // The bit fields are part of headers from version 2 on (52 bytes), and follow older headers.
  uint64_t after_header = kFileHeader + header_bytes;
  Field red(bits == 16 ? 31u << 10 : 0xffu << 16), green(bits == 16 ? 31u << 5 : 0xffu << 8),
      blue(bits == 16 ? 31u : 0xffu), alpha(0);
  if (bit_fields) {
    const bool has_alpha = compression == 6 || (header_bytes >= 56 && header_bytes != 64);
    const uint64_t end = kFileHeader + 40 + (has_alpha ? 16 : 12);
    need(end, "the bit fields");
    after_header = std::max(after_header, end);
    red = Field(little(&bytes[54], 4));
    green = Field(little(&bytes[58], 4));
    blue = Field(little(&bytes[62], 4));
    if (has_alpha) alpha = Field(little(&bytes[66], 4));
    for (const Field& field : {red, green, blue, alpha}) {
      if (!field.contiguous() || (bits == 16 && field.mask > 0xffff))
        throw bad("expected contiguous bit fields within ", bits, " bits");
    }
    if (red.mask == 0 && green.mask == 0 && blue.mask == 0)
      throw bad("expected bit fields for red, green or blue, found none");
  }

  std::array<std::array<uint8_t, 3>, 256> palette{};
  uint32_t colours = 0;
  if (bits <= 8) {
    colours = stated_colours == 0 ? 1u << bits : stated_colours;
    if (colours > 1u << bits) throw bad(colours, " palette colours, expected at most ", 1u << bits);
    const size_t entry_bytes = core ? 3 : 4;
    need(after_header + colours * entry_bytes, "the palette");
    for (size_t i = 0; i < colours; ++i) {
      const uint8_t* p = &bytes[after_header + i * entry_bytes];
      palette[i] = {p[2], p[1], p[0]};
    }
    after_header += colours * entry_bytes;
  }
  if (data_offset < after_header)
    throw bad("the pixels begin at byte ", data_offset, ", expected at least ", after_header,
              ", where the header ends");
  const uint64_t row_bytes = (static_cast<uint64_t>(width) * bits + 31) / 32 * 4;
  const uint64_t data_bytes = row_bytes * static_cast<uint64_t>(height);
  if (bytes.size() < data_offset || bytes.size() - data_offset < data_bytes) {
    throw bad("truncated: ", bytes.size() < data_offset ? 0 : bytes.size() - data_offset, " of ", data_bytes,
              " bytes of pixels");
  }

  Picture picture;
  picture.format = "BMP";
  picture.width = static_cast<int>(width);
  picture.height = static_cast<int>(height);
  picture.channels = alpha.mask ? 4 : 3;
  const auto channels = static_cast<size_t>(picture.channels);
  const auto columns = static_cast<size_t>(width);
  picture.pixels.resize(columns * static_cast<size_t>(height) * channels);
  uint8_t* out = picture.pixels.data();
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* row =
        bytes.data() + data_offset + row_bytes * static_cast<uint64_t>(top_down ? y : height - 1 - y);
    for (size_t x = 0; x < columns; ++x, out += channels) {
      if (bits <= 8) {
        const size_t bit = x * bits;
        const uint32_t index = row[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
        if (index >= colours)
          throw bad("palette index ", index, " in row ", y, ", the palette has ", colours, " colours");
        std::copy(palette[index].begin(), palette[index].end(), out);
      } else if (bits == 24) {
        out[0] = row[3 * x + 2];
        out[1] = row[3 * x + 1];
        out[2] = row[3 * x];
      } else {
        const uint32_t pixel = little(row + x * (bits / 8), bits / 8);
        out[0] = red.of(pixel);
        out[1] = green.of(pixel);
        out[2] = blue.of(pixel);
        if (channels == 4) out[3] = alpha.of(pixel);
      }
    }
  }
  return picture;
}

}  // namespace lenslet
