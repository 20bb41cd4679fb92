// Pictures: valid ones of every kind, cut and damaged ones, and decompression bombs.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/fixture_parts.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 28;

Bytes pgm(int width, int height, const Bytes& pixels) {
  return bytes_of("P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n") + pixels;
}

bool ink(int x, int y, int width, int height) {
  return x >= width * 7 / 15 && x < width * 8 / 15 && y >= height / 5 && y < height * 4 / 5;
}

// An upright black bar, a "1", on white paper; alpha, if present, is opaque. For CMYK 0 is full ink.
Picture bar(int width, int height, int channels) {
  Bytes pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const uint8_t value = ink(x, y, width, height) ? 0 : 255;
      for (int c = 0; c < channels; ++c) pixels.push_back((channels == 2 && c == 1) || c == 3 ? 255 : value);
    }
  }
  return make_picture(width, height, channels, pixels);
}

// Each row is a filter byte followed by `row_bytes` of `value`.
Bytes png_rows(int height, size_t row_bytes) {
  Bytes rows;
  for (int y = 0; y < height; ++y) {
    rows.push_back(0);
    rows.insert(rows.end(), row_bytes, 0xff);
  }
  return rows;
}

Bytes deep_png(int width, int height) {
  PngSpec spec{static_cast<uint32_t>(width), static_cast<uint32_t>(height), 16, 0, false, {}, {}};
  Bytes rows = png_rows(height, static_cast<size_t>(width) * 2);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint8_t* const pixel =
          rows.data() + static_cast<size_t>(y) * (static_cast<size_t>(width) * 2 + 1) + 1 + x * 2;
      if (ink(x, y, width, height)) pixel[0] = pixel[1] = 0;
    }
  }
  return png(spec, rows);
}

Bytes palette_png(int width, int height) {
  PngSpec spec{static_cast<uint32_t>(width),
               static_cast<uint32_t>(height),
               8,
               3,
               false,
               {255, 255, 250, 10, 20, 30},
               {}};
  Bytes rows = png_rows(height, static_cast<size_t>(width));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      rows[static_cast<size_t>(y * (width + 1) + 1 + x)] = ink(x, y, width, height) ? 1 : 0;
    }
  }
  return png(spec, rows);
}

void write_kinds(const fs::path& dir) {
  for (const auto& [name, channels] :
       {std::pair("grey.png", 1), {"grey_alpha.png", 2}, {"rgb.png", 3}, {"rgba.png", 4}}) {
    write_fixture(dir / name, png(bar(60, 60, channels)));
  }
  write_fixture(dir / "deep.png", deep_png(60, 60));
  write_fixture(dir / "palette.png", palette_png(60, 60));
  write_fixture(dir / "cmyk.jpg", jpeg(bar(64, 64, 4), 95));
  write_fixture(dir / "progressive.jpg", jpeg(bar(64, 64, 3), 95, true));
  write_fixture(dir / "wide.png", png(bar(200, 40, 1)));
  write_fixture(dir / "tall.png", png(bar(40, 200, 1)));
  write_fixture(dir / "pixel.pgm", pgm(1, 1, {0}));
  write_fixture(dir / "strip.pgm", pgm(5000, 3, Bytes(15000, 200)));
  write_fixture(dir / "strip_ink.png", png(bar(5000, 3, 1)));
  write_fixture(dir / "grey.bmp", bmp(2, 2, 24, {}, Bytes(16, 0x80)));
}

void write_cut(const fs::path& dir) {
  const auto half = [](const Bytes& bytes) {
    return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2));
  };
  write_fixture(dir / "half.png", half(png(bar(60, 60, 3))));
  write_fixture(dir / "half.jpg", half(jpeg(bar(64, 64, 3), 95)));
  write_fixture(dir / "half.bmp", half(bmp(8, 8, 24, {}, Bytes(192, 0x80))));
  write_fixture(dir / "half.pgm", half(pgm(kSide, kSide, bar_pixels(1))));
  write_fixture(dir / "cut.png", bytes_of("\x89PNG\r\n\x1a\n"));
  write_fixture(dir / "cut.pgm", pgm(kSide, kSide, bytes_of("abc")));
  write_fixture(dir / "cut.jpg", Bytes{0xff, 0xd8, 0xff, 0xe0});
  write_fixture(dir / "cut.bmp", bytes_of("BM"));
}

// Pictures that state or contain far more than the size of their file.
void write_bombs(const fs::path& dir) {
  PngSpec spec{1, 1, 8, 0, false, {}, {}};
  write_fixture(dir / "inflates.png", png(spec, {}, 128));
  for (const uint32_t side : {30000u, 2147483647u}) {
    spec.width = spec.height = side;
    write_fixture(dir / (std::to_string(side) + ".png"), png(spec, png_rows(4, 4)));
  }
  write_fixture(dir / "huge.pgm", pgm(2000000000, 2000000000, bytes_of("abc")));
  write_fixture(dir / "400000.pgm", pgm(400000, 400000, {}));
  write_fixture(dir / "16384.pgm", pgm(16384, 16384, bytes_of("1234")));
  write_fixture(dir / "huge.pbm", bytes_of("P1\n99999 99999\n1 0 1"));
  write_fixture(dir / "huge.bmp", bmp(2147483647, 2147483647, 24, {}, Bytes(16)));
  Bytes photo = jpeg(bar(64, 64, 3), 95);
  for (size_t i = 0; i + 9 < photo.size(); ++i) {  // the frame's height and width
    if (photo[i] != 0xff || photo[i + 1] != 0xc0) continue;
    for (size_t at = i + 5; at < i + 9; ++at) photo[at] = at % 2 == (i + 5) % 2 ? 0xff : 0xdc;
    break;
  }
  write_fixture(dir / "huge.jpg", photo);
}

void write_others(const fs::path& dir) {
  const Bytes rest(64, 1);
  write_fixture(dir / "empty.png", {});
  write_fixture(dir / "text.png", bytes_of("this is no picture at all\n"));
  write_fixture(dir / "zero.pgm", pgm(0, 0, {}));
  write_fixture(dir / "negative.pgm", bytes_of("P5\n-3 -3\n255\nabc"));
  write_fixture(dir / "picture.webp", bytes_of("RIFF") + Bytes{16, 0, 0, 0} + bytes_of("WEBPVP8 ") + rest);
  write_fixture(dir / "picture.gif", bytes_of("GIF89a\x01"));
  write_fixture(dir / "photo.heic", Bytes{0, 0, 0, 0x18} + bytes_of("ftypheic") + rest);
  write_fixture(dir / "photo.jxl", Bytes{0, 0, 0, 0x0c} + bytes_of("JXL \r\n\x87\n") + rest);
  write_fixture(dir / "photo.jp2", Bytes{0, 0, 0, 0x0c} + bytes_of("jP  \r\n\x87\n") + rest);
  write_fixture(dir / "favicon.ico", Bytes{0, 0, 1, 0, 1, 0} + rest);
  write_fixture(dir / "zeros.png", Bytes(2) + rest);
  write_fixture(dir / "unreadable.pgm", pgm(kSide, kSide, bar_pixels(1)));
  fs::permissions(dir / "unreadable.pgm", fs::perms::none);
  ::mkfifo((dir / "fifo.png").c_str(), 0600);
  fs::create_symlink("loop.png", dir / "loop.png");
  fs::create_symlink("nowhere.png", dir / "dangling.png");
}

}  // namespace

void write_pictures(const fs::path& dir) {
  const Bytes one = pgm(kSide, kSide, bar_pixels(1));
  for (const char* name : {"pics/one.pgm", "by_class/1/one.pgm", "pics/with space.pgm", "odd/new\nline.pgm",
                           "odd/not-utf8-\xff\xfe.pgm", "odd/-dash.pgm"}) {
    write_fixture(dir / name, one);
  }
  write_fixture(dir / "pics/blank.pgm", pgm(kSide, kSide, Bytes(kSide * kSide, 0x7f)));
  write_fixture(dir / "bits/black.pbm", bytes_of("P1\n2 2\n1 0\n0 1\n"));
  const Picture large = bar(3000, 2000, 3);  // 17 MiB
  write_fixture(dir / "large/bars.ppm", bytes_of("P6\n3000 2000\n255\n") + large.pixels);
  write_fixture(dir / "large/bars.png", png(make_picture(9000, 2000, 1, large.pixels)));
  write_kinds(dir / "kinds");
  write_cut(dir / "bad");
  write_bombs(dir / "bombs");
  write_others(dir / "bad");
  // A folder with readable and unreadable pictures.
  write_fixture(dir / "mixed/1.pgm", one);
  write_fixture(dir / "mixed/2.png", bytes_of("no picture"));
  write_fixture(dir / "mixed/3.pgm", one);
  fs::create_symlink("4.pgm", dir / "mixed/4.pgm");
  write_fixture(dir / "mixed/5.pgm", one);
}

}  // namespace lenslet::test
