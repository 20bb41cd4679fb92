// Internal to models: the last steps from ink to the model's input.
#pragma once

#include "models/digit/digit_image.h"
#include "models/digit/ink.h"

namespace lenslet {

/// Whether a picture has MNIST's form and is taken as it is; sets the pixels.
bool is_mnist_like(const Picture& picture,
                   std::array<uint8_t, DigitImage::kSide * DigitImage::kSide>& pixels);

/// Takes all of the ink in its box as one digit: strokes of a usual width, longer side 20, centre of mass in the
/// middle. Sets `blank` if the box has no ink.
DigitImage place_digit(const Ink& ink);

/// "picture: PNG, 40x40, 3 channels".
std::string describe_picture(const Picture& picture);

}  // namespace lenslet
