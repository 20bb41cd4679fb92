// Internal to models: the ink of a mark as a person might have written it more plainly, for a mark that is refused.
#pragma once

#include <optional>

#include "models/digit/ink.h"

namespace lenslet {

/// By how many columns the ink leans to the right for each row upwards: the ratio of its second moments.
double slant_of(const Ink& own);
/// The ink without its slant, in a wider plane.
Ink upright(const Ink& own, double slant);
/// The ink with strokes of one depth, if reflections or a dry pen made a part of them faint; else nothing.
std::optional<Ink> evened(const Ink& own);

}  // namespace lenslet
