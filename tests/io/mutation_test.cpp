// Readers under files damaged at random: bytes flipped, inserted, removed, blocks copied. Each file must be read or
// refused; a crash, a sanitizer's finding or another exception fails. Seeds are fixed, so that a failure repeats.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "framework/error.h"
#include "framework/io/idx.h"
#include "framework/io/image.h"
#include "framework/io/safetensors.h"
#include "tests/io/crafted_files.h"

namespace lenslet::test {
namespace {

constexpr int kRuns = 3000;  // for each seed file

void mutate(Bytes& file, std::mt19937& random) {
  const auto below = [&](size_t n) {
    return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const size_t changes = 1 + below(4);
  for (size_t i = 0; i < changes && !file.empty(); ++i) {
    const size_t at = below(file.size());
    switch (below(6)) {
      case 0:
        file[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        file[at] = static_cast<uint8_t>(below(256));
        break;
      case 2:
        file[at] = below(2) ? 0xff : 0;
        break;
      case 3:
        file.erase(file.begin() + static_cast<std::ptrdiff_t>(at),
                   file.begin() + static_cast<std::ptrdiff_t>(std::min(file.size(), at + 1 + below(8))));
        break;
      case 4:
        file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(8),
                    static_cast<uint8_t>(below(256)));
        break;
      default:
        file.resize(at);
        break;
    }
  }
}

template <typename Read>
void run(const std::vector<Bytes>& seeds, const Read& read, int runs = kRuns) {
  std::mt19937 random(1998);
  size_t accepted = 0, refused = 0;
  for (const Bytes& seed : seeds) {
    ASSERT_NO_THROW(read(seed));
    for (int i = 0; i < runs; ++i) {
      Bytes file = seed;
      mutate(file, random);
      try {
        read(file);
        ++accepted;
      } catch (const DataError& error) {
        ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, accepted / 10) << "of " << accepted + refused
                                    << " files, almost all were read: is anything checked?";
}

Image noise(int width, int height, int channels) {
  std::mt19937 random(7);
  Bytes pixels(static_cast<size_t>(width * height * channels));
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random());
  return make_image(width, height, channels, pixels);
}

void read_picture(const Bytes& file) {
  ImageLimits limits;
  limits.max_pixels = 1 << 16;  // a large size is refused soon, not decoded slowly
  const Image image = decode_image(file, "picture", limits);
  ASSERT_EQ(image.pixels.size(), static_cast<size_t>(image.width) * static_cast<size_t>(image.height) *
                                     static_cast<size_t>(image.channels));
}

// The chunk checksums stop nearly every change; with new ones the decoder behind them is reached.
Bytes with_checksums(const Bytes& file) {
  Bytes out(file.begin(), file.begin() + 8);
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length =
        size_t{file[at]} << 24 | size_t{file[at + 1]} << 16 | size_t{file[at + 2]} << 8 | file[at + 3];
    if (length > file.size() - at - 12) break;
    const auto body = file.begin() + static_cast<std::ptrdiff_t>(at) + 4;
    out = out + png_chunk(std::string(body, body + 4),
                          Bytes(body + 4, body + 4 + static_cast<std::ptrdiff_t>(length)));
    at += 12 + length;
  }
  return out;
}

std::vector<Bytes> png_seeds() {
  PngSpec palette, interlaced, wide;
  palette.width = palette.height = 8;
  palette.depth = 4;
  palette.color = 3;
  palette.palette = Bytes(30, 77);
  palette.transparency = Bytes(5, 100);
  Bytes palette_rows;
  for (int y = 0; y < 8; ++y)
    palette_rows = palette_rows + Bytes{static_cast<uint8_t>(y % 5), 0x12, 0x34, 0x56, 0x78};
  interlaced.width = interlaced.height = 8;
  interlaced.interlaced = true;
  wide.width = 3;
  wide.height = 2;
  wide.depth = 16;
  wide.color = 2;
  return {png(noise(9, 7, 1)), png(noise(5, 6, 4)), png(palette, palette_rows),
          png(interlaced, Bytes(64 + 15, 0)), png(wide, Bytes(2 * 19, 1))};
}

TEST(Mutation, Png) { run(png_seeds(), read_picture); }

TEST(Mutation, PngBehindTheChecksums) {
  run(png_seeds(), [](const Bytes& file) {
    if (file.size() < 8) return read_picture(file);
    read_picture(with_checksums(file));
  });
}

TEST(Mutation, Jpeg) {
  run({jpeg(noise(24, 17, 3), 80), jpeg(noise(16, 16, 1), 50, true), jpeg(noise(9, 9, 4), 70),
       jpeg(noise(8, 8, 1), 70, false, exif(6, true))},
      read_picture);
}

TEST(Mutation, Bmp) {
  const Bytes masks = {0x00, 0xf8, 0, 0, 0xe0, 0x07, 0, 0, 0x1f, 0, 0, 0};
  run({bmp(4, 3, 24, {}, Bytes(36, 5)), bmp(5, 5, 8, Bytes(64, 9), Bytes(40, 3)),
       bmp(9, 2, 1, Bytes(8, 9), Bytes(8, 0xa5)), bmp(2, 2, 16, masks, Bytes(8, 7), 3)},
      read_picture);
}

TEST(Mutation, Pnm) {
  run({bytes_of("P1 4 2\n10101010"), bytes_of("P2 2 2 100\n0 50\n100 25\n"), bytes_of("P3 1 1 255 1 2 3\n"),
       bytes_of("P4 9 2\n") + Bytes(4, 7), bytes_of("P5 3 3 255\n") + Bytes(9, 7),
       bytes_of("P6 2 2 65535\n") + Bytes(24, 7)},
      read_picture);
}

TEST(Mutation, Safetensors) {
  const std::string header = "{\"__metadata__\":{\"k\":\"v\"}," + tensor_entry("a", "F32", "2,2", "0,16") +
                             "," + tensor_entry("b", "F16", "3", "16,22") + "}";
  run({safetensors(header, 22)},
      [](const Bytes& file) { parse_safetensors(file.data(), file.size(), "weights"); });
}

TEST(Mutation, Idx) {
  const TemporaryFolder folder;
  const Bytes plain = idx({2, 3, 3}, Bytes(18, 5));
  run(
      {plain, gzip(plain)}, [&](const Bytes& file) { read_idx(folder.write("data", file), 3); }, kRuns / 4);
}

}  // namespace
}  // namespace lenslet::test
