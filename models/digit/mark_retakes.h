// Other forms of a mark that the model refuses: upright, or with even depth. Internal to models.
#pragma once

#include <optional>

#include "models/digit/ink.h"

namespace lenslet {

/// The slant: columns to the right per row upwards, the ratio of the ink's second moments.
double slant_of(const Ink& own);
/// The ink without its slant, in a wider plane.
Ink upright(const Ink& own, double slant);
/// The ink with all strokes at full depth, if a reflection or a dry pen made a part of them faint; otherwise nullopt.
std::optional<Ink> evened(const Ink& own);

}  // namespace lenslet
