// Internal: what a resident kernel is launched with, without CUDA: the test that stands in for the kernel reads it.
#pragma once

#include "models/fused_lenet5/gpu/cluster/tile.h"
#include "models/fused_lenet5/resident_protocol.h"

namespace lenslet::cluster_lenet5 {

struct ResidentArguments {
  resident::Memory* memory;  // page-locked host memory
  const float* packed;       // [Tile::kFloats], in the order of Tile
  resident::Turn turn;
  Conv1Parameters conv1;
};

}  // namespace lenslet::cluster_lenet5
