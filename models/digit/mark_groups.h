// Internal to models: which marks of a picture are strokes of one digit, and which are lines or specks beside it.
#pragma once

#include <cstddef>
#include <vector>

#include "models/digit/ink.h"
#include "models/digit/picture_warning.h"
#include "models/digit/plane.h"

namespace lenslet {

/// A mark lower than this share of the digits' height may be too small for a digit.
inline constexpr double kSmallHeight = 0.4;

/// Marks that belong to one digit.
struct MarkGroup {
  Box box;
  double mass = 0;
  std::vector<size_t> marks;  // indices in Ink::marks
};

/// Columns that two boxes have in common; negative: the gap between them.
int shared_columns(const Box& a, const Box& b);
/// Rows that two boxes have in common; negative: the gap between them.
int shared_rows(const Box& a, const Box& b);

/// Height of the digits: the median of the marks' heights, weighted by their mass.
double digit_height(const std::vector<MarkGroup>& groups);
/// Whether a mark is too small for a digit in both directions.
bool is_small(const Box& box, double height);
/// Whether a mark is too low for a digit.
bool is_flat(const Box& box, double height);

/// Joins the strokes of a digit. Returns the digits from left to right.
std::vector<MarkGroup> group_marks(std::vector<MarkGroup> groups);
/// Removes underlines; call it before group_marks(), which would take them for a stroke of the digit above. A dash
/// beside the digits is no underline.
void leave_out_lines(std::vector<MarkGroup>& groups, PictureWarnings& warnings);
/// Removes specks above or below the row.
void leave_out_specks(std::vector<MarkGroup>& groups, PictureWarnings& warnings);

/// Whether the marks are one row: each has some rows in common with the next one.
bool is_one_row(const std::vector<MarkGroup>& groups);
/// Whether there is a gap between one of the marks and all others, as above the point of "?" or between two halves.
bool stand_apart(const Ink& ink, const std::vector<size_t>& marks);
/// Whether marks taken for strokes of one digit may be two signs: a small one at the upper right, or a second digit.
bool may_be_two(const Ink& ink, const std::vector<size_t>& marks, double height);

}  // namespace lenslet
