// Which outputs of a large problem are judged.
#pragma once

#include <cstdint>
#include <vector>

namespace lenslet::reference {

/// Indices into [planes, rows, columns] in rising order: all, where `wanted` is as many; else about that many, spread
/// over all planes and all 8x8 patches of a plane, random within a patch, with both ends and more of those at a plane's
/// edges, where kernels treat elements otherwise. The same seed gives the same choice.
std::vector<int64_t> choose_outputs(int64_t planes, int64_t rows, int64_t columns, int64_t wanted,
                                    uint64_t seed);

}  // namespace lenslet::reference
