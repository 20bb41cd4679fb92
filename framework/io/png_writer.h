// Pictures out: 8-bit PNG.
#pragma once

#include <string>

#include "framework/io/image.h"

namespace lenslet {

/// The bytes of a PNG file: grey, grey with alpha, RGB or RGBA by the image's channels, 8 bits each. Throws DataError
/// for a size that PNG does not know or pixels that do not fit it, MemoryError where zlib gets none.
std::string encode_png(const Image& image);

}  // namespace lenslet
