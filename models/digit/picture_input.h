// Any picture as the input of a network: all of it, scaled to the network's rows and columns.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/io/image.h"
#include "framework/tensor/shape.h"

namespace lenslet {

/// Whether pictures fit `sample`: [1, H, W] grey or [3, H, W] RGB, H and W at most kMaxPictureSide.
bool takes_pictures(const Shape& sample);
inline constexpr int64_t kMaxPictureSide = 4096;  // rows or columns

/// The bytes [C, H, W] of `sample`, which must take pictures. Alpha is laid over white. Of a picture of another aspect
/// `keep_aspect` takes the largest part around the middle that has the network's; otherwise it is stretched. Shrinks by
/// the mean of the covered pixels and enlarges linearly.
std::vector<uint8_t> picture_input(const Image& image, const Shape& sample, bool keep_aspect = false);

}  // namespace lenslet
