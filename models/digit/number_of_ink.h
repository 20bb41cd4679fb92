// Internal to models: from the ink of a picture to its number.
#pragma once

#include "framework/io/image.h"
#include "models/digit/ink.h"
#include "models/digit/number_image.h"

namespace lenslet {

/// Whether a picture has the model's size, so that it is one digit as it is.
bool has_digits_form(const Image& image);

/// prepare_number() of another picture, whose ink is known.
NumberImage number_of_ink(const Image& image, const Ink& ink);

}  // namespace lenslet
