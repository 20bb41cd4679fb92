// Any picture as the input of a network: all of it, scaled to the network's rows and columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/io/image.h"
#include "framework/tensor/shape.h"

namespace lenslet {

/// Whether pictures fit `sample`: [1, H, W] grey or [3, H, W] RGB, H and W at most kMaxPictureSide.
bool takes_pictures(const Shape& sample);
inline constexpr int64_t kMaxPictureSide = 4096;  // rows or columns

/// Which part of a picture becomes the input, and in which order its colours stand.
struct PictureFit {
  /// The largest part around the middle that has the network's aspect; else it is stretched.
  bool keep_aspect = false;
  /// The part around the middle that fits once the shorter side has so many pixels, at least 1.
  std::optional<int64_t> size;
  bool bgr = false;  // blue before green before red
};

/// The bytes [C, H, W] of `sample`, which must take pictures. Alpha is laid over white. Shrinks by the mean of the
/// covered pixels and enlarges linearly.
std::vector<uint8_t> picture_input(const Image& image, const Shape& sample, const PictureFit& fit = {});

}  // namespace lenslet
