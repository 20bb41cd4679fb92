// Internal to models: the ink of one mark, and the ways to cut a wide mark into digits.
#pragma once

#include <vector>

#include "framework/io/picture.h"
#include "models/digit/ink.h"
#include "models/digit/mark_groups.h"
#include "models/digit/number_marks.h"

namespace lenslet {

/// A box of the ink's plane in pixels of the picture.
Box in_picture(const Ink& ink, const Box& box, const Picture& picture);
/// The ink of some marks, or of a part of their box.
Ink ink_of(const Ink& ink, const MarkGroup& group, const Box& part);
/// The ways to cut a wide mark into two or more digits, each where a vertical cut crosses little ink.
std::vector<std::vector<DigitMark>> cuts_of(const Ink& ink, const MarkGroup& group, const Picture& picture);

}  // namespace lenslet
