#include "models/digit/picture_input.h"

#include <algorithm>
#include <cmath>

#include "models/digit/plane.h"

namespace lenslet {
namespace {

// A colour of a pixel over white, 0 to 255. All colours of a grey picture are its grey.
float colour_over_white(const uint8_t* pixel, int channels, size_t colour) {
  const float alpha = channels % 2 == 0 ? static_cast<float>(pixel[channels - 1]) / kMaxByte : 1;
  return static_cast<float>(pixel[channels >= 3 ? colour : 0]) * alpha + kMaxByte * (1 - alpha);
}

// `value` of every pixel.
template <class Value>
Plane plane_of(const Picture& picture, Value&& value) {
  Plane plane(picture.width, picture.height);
  for (size_t i = 0; i < plane.values.size(); ++i)
    plane.values[i] = value(picture.pixels.data() + i * static_cast<size_t>(picture.channels));
  return plane;
}

// The centred part of the picture that becomes width x height, in whole pixels: the largest one of that ratio, or with
// `size` the one that has width x height pixels once the picture's shorter side is scaled to `size`.
Box middle_of(const Picture& picture, int width, int height, std::optional<int64_t> size) {
  const double largest =
      std::min(static_cast<double>(picture.width) / width, static_cast<double>(picture.height) / height);
  const double factor = size ? std::min(picture.width, picture.height) / static_cast<double>(*size) : largest;
  const int w = std::clamp(static_cast<int>(std::lround(factor * width)), 1, picture.width);
  const int h = std::clamp(static_cast<int>(std::lround(factor * height)), 1, picture.height);
  const int x = (picture.width - w) / 2, y = (picture.height - h) / 2;
  return {x, y, x + w, y + h};
}

}  // namespace

float grey_over_white(const uint8_t* pixel, int channels) {
  const float first = colour_over_white(pixel, channels, 0);
  if (channels < 3) return first;
  return luma(first, colour_over_white(pixel, channels, 1), colour_over_white(pixel, channels, 2));
}

std::optional<PictureLayout> picture_layout(const Shape& sample) {
  if (sample.rank() != 3) return std::nullopt;
  const auto is_colours = [](int64_t count) { return count == 1 || count == 3; };
  const bool first = is_colours(sample[0]);
  const PictureLayout layout = first ? PictureLayout{sample[0], sample[1], sample[2], false}
                                     : PictureLayout{sample[2], sample[0], sample[1], true};
  if (!is_colours(layout.channels) || layout.height > kMaxPictureSide || layout.width > kMaxPictureSide)
    return std::nullopt;
  return layout;
}

std::vector<uint8_t> picture_input(const Picture& picture, const PictureLayout& layout,
                                   const PictureFit& fit) {
  const int height = static_cast<int>(layout.height), width = static_cast<int>(layout.width);
  const bool cuts = fit.keep_aspect || fit.size;
  const Box part =
      cuts ? middle_of(picture, width, height, fit.size) : Box{0, 0, picture.width, picture.height};
  const auto channels = static_cast<size_t>(layout.channels);
  const size_t plane = static_cast<size_t>(layout.height) * static_cast<size_t>(layout.width);
  std::vector<uint8_t> bytes(channels * plane);
  for (size_t c = 0; c < channels; ++c) {
    const Plane colour = plane_of(picture, [&](const uint8_t* pixel) {
      return channels == 1 ? grey_over_white(pixel, picture.channels)
                           : colour_over_white(pixel, picture.channels, fit.bgr ? 2 - c : c);
    });
    const Plane scaled = resize(colour, part, width, height);
    for (size_t i = 0; i < plane; ++i)
      bytes[layout.channels_last ? i * channels + c : c * plane + i] =
          static_cast<uint8_t>(std::lround(std::clamp(scaled.values[i], 0.0f, 255.0f)));
  }
  return bytes;
}

}  // namespace lenslet
