// JPEG by libjpeg-turbo: baseline and progressive; grey, YCbCr, RGB, CMYK and YCCK; rotated and mirrored by the Exif
// orientation.
// Sources: ITU-T T.81; libjpeg.txt (error handling, suspension, scaling); CIPA DC-008 (Exif 2.3), 4.6.2 and 4.6.4 A.
//
// libjpeg reports through callbacks that must not return. They jump back into decode_rows(), which owns nothing with a
// destructor: the vectors live in its callers.

#include <csetjmp>
#include <cstdio>
#include <cstring>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>
// Message codes.
#include <jerror.h>

#include <algorithm>

#include "framework/base/error.h"
#include "framework/io/picture_decoders.h"

namespace lenslet {
namespace {

// Bounds the time: a progressive picture may have any number of scans. Encoders write about ten.
constexpr int kMaxScans = 100;
constexpr unsigned kMaxExifBytes = 0xffff;

struct Failure {
  jpeg_error_mgr manager;  // first: libjpeg hands back a pointer to it
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  bool truncated;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  (*info->err->format_message)(info, failure->message);
  std::longjmp(failure->jump, 1);
}

// libjpeg warns about damaged data and continues with grey. Such a picture is refused, because its content is wrong.
// Stray bytes before a marker and unusual version numbers are accepted: cameras write them, and no pixel is lost.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
  on_error(info);
}

void on_progress(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  if (info->is_decompressor && reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    std::snprintf(failure->message, sizeof failure->message, "expected at most %d scans, found more",
                  kMaxScans);
    std::longjmp(failure->jump, 1);
  }
}

// A memory source that reports an early end of the file; libjpeg's own inserts an end marker there.
void source_start(j_decompress_ptr) {}
boolean source_fill(j_decompress_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  failure->truncated = true;
  std::snprintf(failure->message, sizeof failure->message, "the file ends within the picture");
  std::longjmp(failure->jump, 1);
}
void source_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > info->src->bytes_in_buffer) source_fill(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<size_t>(count);
}
void source_end(j_decompress_ptr) {}

struct Decoder {
  Failure failure{};
  jpeg_decompress_struct info{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};

  Decoder(const std::vector<uint8_t>& bytes) {
    info.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = on_error;
    failure.manager.emit_message = on_message;
    if (setjmp(failure.jump)) return;  // out of memory; the first call reports it
    jpeg_create_decompress(&info);
    source.init_source = source_start;
    source.fill_input_buffer = source_fill;
    source.skip_input_data = source_skip;
    source.resync_to_restart = jpeg_resync_to_restart;
    source.term_source = source_end;
    source.next_input_byte = bytes.data();
    source.bytes_in_buffer = bytes.size();
    info.src = &source;
    progress.progress_monitor = on_progress;
    info.progress = &progress;
    ready = true;
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  bool ready = false;
};

bool read_header(Decoder& decoder) {
  if (setjmp(decoder.failure.jump)) return false;
  jpeg_save_markers(&decoder.info, JPEG_APP0 + 1, kMaxExifBytes);
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

bool compute_size(Decoder& decoder) {
  if (setjmp(decoder.failure.jump)) return false;
  jpeg_calc_output_dimensions(&decoder.info);
  return true;
}

// `pixels` has room for the whole picture.
bool decode_rows(Decoder& decoder, uint8_t* pixels, size_t row_bytes) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.failure.jump)) return false;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

// Exif's orientation tag; 1 (upright) if it is missing or the block is damaged.
int exif_orientation(const jpeg_decompress_struct& info) {
  for (const jpeg_marker_struct* marker = info.marker_list; marker; marker = marker->next) {
    const uint8_t* const tiff = marker->data + 6;
    if (marker->marker != JPEG_APP0 + 1 || marker->data_length < 14 ||
        std::memcmp(marker->data, "Exif\0", 6) != 0)
      continue;
    const size_t size = marker->data_length - 6;
    const bool little = tiff[0] == 'I';
    const auto number = [&](size_t at, size_t bytes) {
      uint32_t value = 0;
      for (size_t i = 0; i < bytes; ++i) value |= uint32_t{tiff[at + i]} << 8 * (little ? i : bytes - 1 - i);
      return value;
    };
    if (std::memcmp(tiff, little ? "II*\0" : "MM\0*", 4) != 0) continue;
    const size_t directory = number(4, 4);
    if (directory > size || size - directory < 2) continue;
    const size_t entries = number(directory, 2);
    for (size_t i = 0; i < entries && directory + 2 + 12 * (i + 1) <= size; ++i) {
      const size_t entry = directory + 2 + 12 * i;
      constexpr uint32_t kOrientation = 0x0112, kShort = 3;
      if (number(entry, 2) != kOrientation || number(entry + 2, 2) != kShort) continue;
      const uint32_t value = number(entry + 8, 2);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
  }
  return 1;
}

// Turns and mirrors the pixels so that they are upright. Orientations 5 to 8 exchange width and height.
void make_upright(Picture& picture, int orientation) {
  if (orientation == 1) return;
  const bool exchange = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const auto width = static_cast<size_t>(picture.width), height = static_cast<size_t>(picture.height),
             channels = static_cast<size_t>(picture.channels);
  const size_t out_width = exchange ? height : width, out_height = exchange ? width : height;
  std::vector<uint8_t> out(picture.pixels.size());
  for (size_t y = 0; y < out_height; ++y) {
    for (size_t x = 0; x < out_width; ++x) {
      size_t from_x = exchange ? y : x, from_y = exchange ? x : y;
      if (flip_x) from_x = width - 1 - from_x;
      if (flip_y) from_y = height - 1 - from_y;
      std::copy_n(&picture.pixels[(from_y * width + from_x) * channels], channels,
                  &out[(y * out_width + x) * channels]);
    }
  }
  picture.pixels = std::move(out);
  picture.width = static_cast<int>(out_width);
  picture.height = static_cast<int>(out_height);
}

}  // namespace

Picture decode_jpeg(const std::vector<uint8_t>& bytes, const std::string& origin,
                    const PictureLimits& limits) {
  Decoder decoder(bytes);
  const auto failed = [&] {
    return DataError(concat(origin, ": JPEG: ", decoder.failure.truncated ? "truncated: " : "damaged: ",
                            decoder.failure.message));
  };
  if (!decoder.ready || !read_header(decoder)) throw failed();
  jpeg_decompress_struct& info = decoder.info;
  check_picture_size(info.image_width, info.image_height, 0, origin, limits);
  if (info.data_precision != 8)
    throw DataError(concat(origin, ": JPEG: ", info.data_precision, " bits a sample, expected 8"));

  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  const bool grey = info.jpeg_color_space == JCS_GRAYSCALE;
  info.out_color_space = inks ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
  const double channels = inks ? 4 : grey ? 1 : 3;
  const int orientation = exif_orientation(info);
  // Progressive pictures are decoded from all their coefficients, two bytes each, at any scale.
  const double coefficients = jpeg_has_multiple_scans(&info) ? 2.0 * info.num_components : 0;
  const double copies = orientation == 1 ? 1 : 2;
  const double pixels = static_cast<double>(info.image_width) * info.image_height;
  unsigned scale = 1;
  while (scale < 8 && pixels * (coefficients + copies * channels / (scale * scale)) >
                          static_cast<double>(limits.max_decode_bytes))
    scale *= 2;
  check_picture_size(info.image_width, info.image_height, coefficients + copies * channels / (scale * scale),
                     origin, limits);
  info.scale_num = 1;
  info.scale_denom = scale;
  if (!compute_size(decoder)) throw failed();

  Picture picture;
  picture.format = "JPEG";
  picture.width = static_cast<int>(info.output_width);
  picture.height = static_cast<int>(info.output_height);
  picture.channels = static_cast<int>(channels);
  const size_t row_bytes = size_t{info.output_width} * static_cast<size_t>(picture.channels);
  picture.pixels.resize(row_bytes * info.output_height);
  if (!decode_rows(decoder, picture.pixels.data(), row_bytes)) throw failed();

  if (inks) {
    // Adobe writes CMYK inverted (0 is full ink), with a marker.
    for (size_t i = 0, out = 0; i < picture.pixels.size(); i += 4) {
      const auto light = [&](size_t k) {
        return unsigned{info.saw_Adobe_marker ? picture.pixels[i + k]
                                              : static_cast<uint8_t>(255 - picture.pixels[i + k])};
      };
      const unsigned black = light(3);
      for (size_t k = 0; k < 3; ++k) {
        const unsigned value = (light(k) * black + 127) / 255;
        picture.pixels[out++] = static_cast<uint8_t>(value);
      }
    }
    picture.channels = 3;
    picture.pixels.resize(picture.pixels.size() / 4 * 3);
  }
  make_upright(picture, orientation);
  return picture;
}

}  // namespace lenslet
