// PNM: P1 and P4 bitmaps (1 is black), P2 and P5 grey, P3 and P6 RGB; text (1-3) or binary (4-6), up to 16 bits.
// Source: netpbm.sourceforge.net/doc (pbm, pgm, ppm). Sizes are compared with the file's length before memory is
// allocated.

#include <algorithm>
#include <cctype>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/picture_decoders.h"

namespace lenslet {
namespace {

class PnmReader {
 public:
  PnmReader(const std::vector<uint8_t>& bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  // The next decimal number, after white space and comments.
  uint32_t number(const char* what, uint32_t limit) {
    skip_space();
    if (position_ == bytes_.size()) throw truncated(what);
    if (!std::isdigit(bytes_[position_])) throw unexpected(concat(what, " as a decimal number"));
    uint64_t value = 0;
    while (position_ < bytes_.size() && std::isdigit(bytes_[position_])) {
      value = value * 10 + (bytes_[position_++] - '0');
      if (value > limit) throw DataError(concat(origin_, ": PNM: ", what, " is above ", limit));
    }
    return static_cast<uint32_t>(value);
  }
  // One 0 or 1 of a P1 bitmap; these need no space between them.
  uint8_t bit() {
    skip_space();
    if (position_ == bytes_.size()) throw truncated("the pixels");
    const uint8_t c = bytes_[position_];
    if (c != '0' && c != '1') throw unexpected("0 or 1");
    ++position_;
    return c == '1';
  }
  // The single white space between header and binary data.
  void end_header() {
    if (position_ == bytes_.size()) throw truncated("the header");
    if (!std::isspace(bytes_[position_])) throw unexpected("white space after the header");
    ++position_;
  }
  const uint8_t* take(uint64_t count) {
    const uint64_t left = bytes_.size() - position_;
    if (left < count)
      throw DataError(concat(origin_, ": PNM: truncated: ", left, " of ", count, " bytes of pixels"));
    const uint8_t* data = bytes_.data() + position_;
    position_ += static_cast<size_t>(count);
    return data;
  }
  uint64_t left() const { return bytes_.size() - position_; }
  DataError truncated(const char* where) const {
    return DataError(concat(origin_, ": PNM: truncated in ", where));
  }

 private:
  DataError unexpected(const std::string& wanted) const {
    const std::string_view found(reinterpret_cast<const char*>(&bytes_[position_]), 1);
    return DataError(
        concat(origin_, ": PNM: expected ", wanted, ", found '", printable(found), "' at byte ", position_));
  }
  void skip_space() {
    while (position_ < bytes_.size() && (std::isspace(bytes_[position_]) || bytes_[position_] == '#')) {
      if (bytes_[position_] == '#') {
        while (position_ < bytes_.size() && bytes_[position_] != '\n' && bytes_[position_] != '\r')
          ++position_;
      } else {
        ++position_;
      }
    }
  }

  const std::vector<uint8_t>& bytes_;
  const std::string& origin_;
  size_t position_ = 2;  // after the magic
};

}  // namespace

Picture decode_pnm(const std::vector<uint8_t>& bytes, const std::string& origin,
                   const PictureLimits& limits) {
  constexpr uint32_t kMaxSide = 1u << 30, kMaxSample = 65535;
  const int type = bytes[1] - '0';
  const bool bitmap = type == 1 || type == 4, binary = type >= 4;
  PnmReader reader(bytes, origin);
  const uint32_t width = reader.number("the width", kMaxSide);
  const uint32_t height = reader.number("the height", kMaxSide);
  const uint32_t max_sample = bitmap ? 1 : reader.number("the largest sample", kMaxSample);
  if (max_sample == 0)
    throw DataError(concat(origin, ": PNM: the largest sample is 0, expected 1 to ", kMaxSample));
  Picture picture;
  picture.format = bitmap ? "PBM" : type % 3 == 2 ? "PGM" : "PPM";
  picture.channels = type == 3 || type == 6 ? 3 : 1;
  check_picture_size(width, height, picture.channels, origin, limits);
  picture.width = static_cast<int>(width);
  picture.height = static_cast<int>(height);
  const uint64_t samples = uint64_t{width} * height * static_cast<uint64_t>(picture.channels);
  const auto to_byte = [&](uint32_t value) {
    return static_cast<uint8_t>((std::min(value, max_sample) * 255u + max_sample / 2) / max_sample);
  };

  if (!binary) {
    // A sample has at least one digit, so a file that is too short is refused before memory is allocated.
    if (reader.left() < samples)
      throw DataError(
          concat(origin, ": PNM: truncated: ", reader.left(), " bytes for ", samples, " samples"));
    picture.pixels.resize(static_cast<size_t>(samples));
    for (uint8_t& pixel : picture.pixels)
      pixel = bitmap ? (reader.bit() ? 0 : 255) : to_byte(reader.number("the pixels", kMaxSample));
    return picture;
  }
  reader.end_header();
  if (bitmap) {
    const size_t row_bytes = (size_t{width} + 7) / 8;
    const uint8_t* data = reader.take(uint64_t{row_bytes} * height);
    picture.pixels.resize(static_cast<size_t>(samples));
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        picture.pixels[y * width + x] = data[y * row_bytes + x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
      }
    }
    return picture;
  }
  const bool wide = max_sample > 255;
  const uint8_t* data = reader.take(samples * (wide ? 2 : 1));
  picture.pixels.resize(static_cast<size_t>(samples));
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    picture.pixels[i] = to_byte(wide ? uint32_t{data[2 * i]} << 8 | data[2 * i + 1] : data[i]);
  }
  return picture;
}

}  // namespace lenslet
