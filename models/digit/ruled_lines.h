// Internal to models: separates digits from the printed lines of their paper where both are one mark.
#pragma once

#include <cstdint>
#include <vector>

#include "models/digit/plane.h"

namespace lenslet {

/// Erases the thin lines of a mark that crosses `depth` from edge to edge, if strokes of a digit's size are left.
/// `labels` has the mark's pixels as `label`. Returns whether it changed anything. A binary opening by squares
/// separates the strokes from the lines (Serra, "Image Analysis and Mathematical Morphology", 1982).
bool remove_ruled_lines(Plane& depth, const Component& mark, const std::vector<int32_t>& labels,
                        int32_t label);

}  // namespace lenslet
