// Filters in the order of the fragments of mma.sync. Internal: includes CUDA.
#pragma once

#include "framework/instructions/operand_bits.h"

namespace lenslet {

/// Index of element (row, column) of a 16 x `depth` operand A among the fragments of mma.sync: lane * elements per lane
/// + position (PTX ISA, "Matrix fragments for mma.m16n8k8" and "mma.m16n8k16"). In fp16 a fragment has pairs of
/// neighbouring columns. The columns are permuted so that they match rows t, t+4, t+8 and t+12 of operand B: B's pairs
/// are then read from rows in different shared-memory banks.
inline int fragment_index(int row, int column, bool tf32) {
  const int half = row / 8, lane = row % 8 * 4 + column % 4;
  if (tf32) return lane * 4 + column / 4 * 2 + half;
  return lane * 8 + (column / 8 * 2 + half) * 2 + column / 4 % 2;
}

}  // namespace lenslet
