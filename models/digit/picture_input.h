// Any picture as the input of a network: all of it, scaled to the network's rows and columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/io/picture.h"
#include "framework/tensor/shape.h"

namespace lenslet {

inline constexpr int64_t kMaxPictureSide = 4096;  // rows or columns

/// How a sample holds a picture: grey in 1 channel, RGB in 3.
struct PictureLayout {
  int64_t channels = 1, height = 0, width = 0;  ///< Colours, rows and columns.
  bool channels_last = false;                   ///< Whether a pixel's colours are neighbours.
};
/// The layout of a sample of this shape: [C, H, W], as PyTorch's networks read pictures, or [H, W, C], as Keras's do. C
/// is 1 or 3, H and W are at most kMaxPictureSide. A shape that fits both is [C, H, W]; nullopt for one that fits
/// neither.
std::optional<PictureLayout> picture_layout(const Shape& sample);

/// The grey of a pixel with 1 to 4 channels over white, 0 to 255: its luma if it has colours.
float grey_over_white(const uint8_t* pixel, int channels);

/// Which part of a picture becomes the input, and in which order its colours stand.
struct PictureFit {
  /// Takes the largest centred part with the network's ratio of width to height; otherwise the picture is stretched.
  bool keep_aspect = false;
  /// Scales the picture until its shorter side has this many pixels, at least 1, and takes the centred part of the
  /// network's size.
  std::optional<int64_t> size;
  bool bgr = false;  // blue before green before red
};

/// The bytes of a sample of that layout. Alpha is laid over white. Shrinks by the mean of the covered pixels and
/// enlarges linearly.
std::vector<uint8_t> picture_input(const Picture& picture, const PictureLayout& layout,
                                   const PictureFit& fit = {});

}  // namespace lenslet
