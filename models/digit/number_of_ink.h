// Internal to models: from the ink of a picture to its number.
#pragma once

#include <string>

#include "framework/io/picture.h"
#include "models/digit/ink.h"
#include "models/digit/number_marks.h"

namespace lenslet {

/// Whether a picture has the model's size. It is then taken as one digit, unchanged.
bool has_digits_form(const Picture& picture);

/// Sets why a number is refused.
void refuse(NumberMarks& number, Refusal refusal, std::string reason);

/// The rest of prepare_number(), once `ink` was found in `picture`.
NumberMarks number_of_ink(const Picture& picture, const Ink& ink);

}  // namespace lenslet
