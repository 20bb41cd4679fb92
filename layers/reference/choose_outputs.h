// Chooses the outputs of a large problem that are judged.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/tensor/shape.h"

namespace lenslet::reference {

/// Indices into `outputs` [planes, rows, columns] in rising order: all, if there are at most `wanted`; else about
/// `wanted`, spread over all planes and all 8x8 patches of a plane, random within a patch, plus both ends and more at
/// the edges of a plane, where kernels treat elements differently. The same seed gives the same choice.
std::vector<int64_t> choose_outputs(const Shape& outputs, int64_t wanted, uint64_t seed);

}  // namespace lenslet::reference
