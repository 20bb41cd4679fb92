// Reading of pictures within limits: PNG by stb_image, JPEG by libjpeg-turbo, BMP and PNM by this project's readers.
//
// Debian's stb_image is version 2.27. Its JPEG decoder writes out of bounds and its PNM decoder reads past the heap.
// The BMP decoder shows uninitialised memory for a palette index beyond the palette, and returns a black picture for a
// truncated file. So only its PNG decoder is compiled, after a check of the chunks and their checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// A picture with 8 bits per channel, interleaved.
struct Picture {
  int width = 0, height = 0, channels = 0;  // channels: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA
  std::vector<uint8_t> pixels;              // [height, width, channels]
  std::string format;                       // "PNG", "JPEG", …
};

/// Limits of a picture, compared with its header before memory is allocated.
struct PictureLimits {
  static constexpr int64_t kDefaultPixels = 1 << 26;  // 64 Mi
  static constexpr int64_t kMaxPixels = 1 << 28;      // the PNG decoder counts bytes in an int
  const char* option = nullptr;                       // the option that raises the limits, for messages
  int64_t max_pixels = kDefaultPixels;                // width * height
  size_t max_file_bytes = 64u << 20;                  // 64 MiB
  size_t max_decode_bytes = 92u << 20;  // memory while decoding: a 4000x3000 picture with alpha fits

  /// Limits for pictures of up to `pixels`, 1 to kMaxPixels. File and memory may be as large as the least compact
  /// picture of that size needs, and at least the defaults.
  static PictureLimits up_to(int64_t pixels, const char* option = nullptr);
};

/// The origin, for messages, of a picture that is not a file.
inline constexpr const char* kPictureInMemory = "the picture in memory";

/// The formats of decode_picture() for messages and help: "PNG, JPEG, BMP or PNM".
const char* picture_formats();

/// Decodes the bytes of a file. A JPEG that needs too much memory is decoded at 1/2, 1/4 or 1/8 of its size. Applies
/// the Exif orientation. Throws DataError naming `origin`: empty, truncated, too large, or an unsupported format (with
/// the supported ones, and with a command that converts the file `path`, unless it is empty).
Picture decode_picture(const std::vector<uint8_t>& bytes, const std::string& origin,
                       const PictureLimits& limits = {}, const std::string& path = {});
/// Whether a picture needs at most about 4 MiB to decode and prepare, according to its header, so that every thread may
/// decode one at the same time. False if the header does not show it.
bool is_small_picture(const std::vector<uint8_t>& bytes);
/// Reads and decodes a file; "-" is standard input. Throws like read_file() and decode_picture().
Picture read_picture(const std::string& path, const PictureLimits& limits = {});

}  // namespace lenslet
