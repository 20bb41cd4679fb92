#include "apps/lenslet/eval/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/io/png_writer.h"

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
      return "00700";  // '-' marks an answer that is no digit
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
  sheet.height = static_cast<int>(ceil_div(count, columns)) * kCellHeight;
  sheet.pixels.assign(static_cast<size_t>(sheet.width) * static_cast<size_t>(sheet.height), kPaper);
  for (size_t i = 0; i < misses.size(); ++i) {
    const Miss& miss = misses[i];
    const int x = static_cast<int>(i) % columns * kCellWidth + kMargin;
    const int y = static_cast<int>(i) / columns * kCellHeight + kMargin;
    const uint8_t* pixels = data.images.data() + miss.index * kLenet5Pixels;
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

}  // namespace

void write_contact_sheet(const std::string& path, const ImageDataset& data, const std::vector<Miss>& misses) {
  const Sheet sheet = draw(data, misses);
  write_result(path, ends_with(path, ".png") ? encode_png({sheet.width, sheet.height, 1, sheet.pixels, ""})
                                             : pgm(sheet));
}

}  // namespace lenslet
