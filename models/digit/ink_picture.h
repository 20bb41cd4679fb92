// The ink that was found in a picture, as a picture: a step between the picture and the model's input.
#pragma once

#include "framework/io/picture.h"
#include "models/digit/number_marks.h"

namespace lenslet {

/// prepare_number(), and in `ink` what is left of the picture, or of the part of it that has the marks, once the paper
/// and the marks left out are removed: grey, 0 = paper, 255 = full ink. The longer side has at most `longest` pixels.
/// Empty without ink, and for a picture of 28x28 pixels, which is taken as it is.
NumberMarks prepare_number(const Picture& picture, int longest, Picture& ink);

}  // namespace lenslet
