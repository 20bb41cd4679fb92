// Internal to models: separates digits from the printed lines of their paper where both are one mark.
#pragma once

#include <cstdint>
#include <vector>

#include "models/digit/plane.h"

namespace lenslet {

/// Sets the thin lines of a mark to 0 that crosses `depth` from edge to edge, if what is left of it are strokes of a
/// digit's size. `labels` has the mark's pixels as `label`. Returns whether it changed anything. Thin is half as wide
/// as the strokes; a binary opening by squares decides (Serra, "Image Analysis and Mathematical Morphology", 1982).
bool remove_ruled_lines(Plane& depth, const Component& mark, const std::vector<int32_t>& labels,
                        int32_t label);

}  // namespace lenslet
