// Which outputs of a large problem are judged.
#pragma once

#include <cstdint>
#include <vector>

namespace lenslet::reference {

/// Indices into [planes, rows, columns] in rising order: all, where `wanted` is as many; else a random choice with both ends, and
/// with more of those at a plane's edges, where kernels treat elements otherwise. The same seed gives the same choice.
std::vector<int64_t> choose_outputs(int64_t planes, int64_t rows, int64_t columns, int64_t wanted,
                                    uint64_t seed);

}  // namespace lenslet::reference
