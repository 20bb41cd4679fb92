#include "apps/lenslet/contact_sheet.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "apps/common/output.h"
#include "apps/common/text.h"
#include "framework/error.h"

namespace lenslet {
namespace {

constexpr int kScale = 2;
constexpr int kDigit = kScale * kLenet5Side;
constexpr int kGlyphWidth = 3, kGlyphHeight = 5;
constexpr int kLineHeight = kScale * (kGlyphHeight + 1);
constexpr int kMargin = 4;
constexpr int kCellWidth = kDigit + 2 * kMargin;
constexpr int kCellHeight = kDigit + 2 * kLineHeight + 2 * kMargin;
constexpr uint8_t kPaper = 255, kInk = 0;

struct Sheet {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
  void set_block(int x, int y, uint8_t value) {
    for (int dy = 0; dy < kScale; ++dy) {
      for (int dx = 0; dx < kScale; ++dx) {
        pixels[static_cast<size_t>(y + dy) * static_cast<size_t>(width) + static_cast<size_t>(x + dx)] =
            value;
      }
    }
  }
};

// Rows of three bits, top row first.
const char* glyph(char c) {
  switch (c) {
    case '0':
      return "75557";
    case '1':
      return "26227";
    case '2':
      return "71747";
    case '3':
      return "71717";
    case '4':
      return "55711";
    case '5':
      return "74717";
    case '6':
      return "74757";
    case '7':
      return "71122";
    case '8':
      return "75757";
    case '9':
      return "75717";
    case '>':
      return "42124";
    default:
      return "00700";  // '-', for what is no digit
  }
}

void write_text(Sheet& sheet, int x, int y, const std::string& text) {
  for (const char c : text) {
    const char* rows = glyph(c);
    for (int row = 0; row < kGlyphHeight; ++row) {
      for (int column = 0; column < kGlyphWidth; ++column) {
        if (((rows[row] - '0') >> (kGlyphWidth - 1 - column) & 1) != 0) {
          sheet.set_block(x + kScale * column, y + kScale * row, kInk);
        }
      }
    }
    x += kScale * (kGlyphWidth + 1);
  }
}

Sheet draw(const ImageDataset& data, const std::vector<Miss>& misses) {
  const auto count = static_cast<int>(std::max<size_t>(misses.size(), 1));
  const int columns = std::clamp(static_cast<int>(std::ceil(std::sqrt(1.3 * count))), 1, 40);
  Sheet sheet;
  sheet.width = columns * kCellWidth;
  sheet.height = (count + columns - 1) / columns * kCellHeight;
  sheet.pixels.assign(static_cast<size_t>(sheet.width) * static_cast<size_t>(sheet.height), kPaper);
  for (size_t i = 0; i < misses.size(); ++i) {
    const Miss& miss = misses[i];
    const int x = static_cast<int>(i) % columns * kCellWidth + kMargin;
    const int y = static_cast<int>(i) / columns * kCellHeight + kMargin;
    const uint8_t* pixels = data.images.data() + miss.index * kLenet5Side * kLenet5Side;
    for (int row = 0; row < kLenet5Side; ++row) {
      for (int column = 0; column < kLenet5Side; ++column) {
        sheet.set_block(x + kScale * column, y + kScale * row,
                        static_cast<uint8_t>(255 - pixels[row * kLenet5Side + column]));
      }
    }
    const std::string read_as = miss.predicted < 0 ? "-" : std::to_string(miss.predicted);
    write_text(sheet, x, y + kDigit + kScale, std::to_string(miss.label) + ">" + read_as);
    write_text(sheet, x, y + kDigit + kScale + kLineHeight, std::to_string(miss.index));
  }
  return sheet;
}

std::string pgm(const Sheet& sheet) {
  return concat("P5\n", sheet.width, " ", sheet.height, "\n255\n") +
         std::string(sheet.pixels.begin(), sheet.pixels.end());
}

void append_big_endian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

// Length, type, data, CRC of type and data (PNG specification, section 5.3).
void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  append_big_endian(out, static_cast<uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  append_big_endian(out, static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                       static_cast<uInt>(body.size()))));
}

std::string png(const Sheet& sheet) {
  std::string rows;
  for (int y = 0; y < sheet.height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(sheet.pixels.data()) +
                    static_cast<size_t>(y) * static_cast<size_t>(sheet.width),
                static_cast<size_t>(sheet.width));
  }
  uLongf size = ::compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  if (::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                 static_cast<uLong>(rows.size())) != Z_OK) {
    throw MemoryError("the contact sheet could not be compressed: out of memory");
  }
  packed.resize(size);
  std::string header;
  append_big_endian(header, static_cast<uint32_t>(sheet.width));
  append_big_endian(header, static_cast<uint32_t>(sheet.height));
  header += std::string("\x08\0\0\0\0", 5);  // 8 bits, grey, deflate, no filter method, not interlaced
  std::string out = "\x89PNG\r\n\x1a\n";
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", packed);
  append_chunk(out, "IEND", {});
  return out;
}

}  // namespace

void check_contact_sheet_name(const std::string& path) {
  if (!ends_with(path, ".png") && !ends_with(path, ".pgm")) {
    throw UsageError(concat("--contact-sheet expects a name ending in .png or .pgm, found '", path, "'"));
  }
}

void write_contact_sheet(const std::string& path, const ImageDataset& data, const std::vector<Miss>& misses) {
  const Sheet sheet = draw(data, misses);
  write_result(path, ends_with(path, ".png") ? png(sheet) : pgm(sheet));
}

}  // namespace lenslet
