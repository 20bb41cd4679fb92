// The ink that was found in a picture, as a picture: a step between the picture and the model's input.
#pragma once

#include "framework/io/picture.h"
#include "models/digit/number_marks.h"

namespace lenslet {

/// Does what prepare_number() does, and writes the ink that it kept to `ink`: the whole picture, or the part that
/// contains the marks, in grey (0 = paper, 255 = full ink). The longer side has at most `longest` pixels. `ink` is
/// empty if there is no ink, and for a picture of 28x28 pixels, which is taken as it is.
NumberMarks prepare_number(const Picture& picture, int longest, Picture& ink);

}  // namespace lenslet
