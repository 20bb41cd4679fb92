// The ink that was found in a picture, as a picture: a step between the picture and the model's input.
#pragma once

#include "framework/io/image.h"

namespace lenslet {

/// What is left of the picture, or of the part of it that has the marks, once the paper and the marks left out are
/// removed: grey, 0 = paper, 255 = full ink. The longer side has at most `longest` pixels. Empty without ink.
Image ink_picture(const Image& picture, int longest);

}  // namespace lenslet
