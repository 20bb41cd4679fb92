// Writing of 8-bit PNG pictures.
#pragma once

#include <string>

#include "framework/io/picture.h"

namespace lenslet {

/// Returns the bytes of a PNG file: grey, grey with alpha, RGB or RGBA, 8 bits per channel. Throws DataError if the
/// size is invalid for PNG or does not match the pixels, MemoryError if zlib gets no memory.
std::string encode_png(const Picture& picture);

}  // namespace lenslet
