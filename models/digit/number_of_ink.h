// Internal to models: from the ink of a picture to its number.
#pragma once

#include <string>

#include "framework/io/picture.h"
#include "models/digit/ink.h"
#include "models/digit/number_marks.h"

namespace lenslet {

/// Whether a picture has the model's size, so that it is one digit as it is.
bool has_digits_form(const Picture& picture);

/// Sets why a number is refused.
void refuse(NumberMarks& number, Refusal refusal, std::string reason);

/// prepare_number() of another picture, whose ink is known.
NumberMarks number_of_ink(const Picture& picture, const Ink& ink);

}  // namespace lenslet
