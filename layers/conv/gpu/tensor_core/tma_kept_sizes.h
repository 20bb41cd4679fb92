// Sizes of the convolution whose blocks keep their filters in shared memory: tensor_core/tma_kept.cuh. No CUDA type
// appears here, so that tma_choice.h can be tested without CUDA.
#pragma once

#include <cstdint>

namespace lenslet {

// A run: the channels of a row of operands in shared memory. A product: that of one tap and one run, for a tile. A
// step: what a stage of a ring holds, the operands of one product or, where blocks keep their filters, the inputs of
// several.

/// How a block that keeps its filters streams inputs. A step is a row of the filters with some runs. It copies the
/// inputs of all taps of the row, one box for each run: those of a tile's positions, and of the (S - 1) * dilation
/// columns to the right of the last one. So positions count the columns of the padded input; the last (S - 1) *
/// dilation sums of a row are dropped.
struct TmaKeptSizes {
  int steps, row_steps;         // of a tile; of a row of the filters
  int step_filter_bytes;        // of a tile's filters for a step
  int q, columns;               // Q, and with the dropped columns
  int box_bytes, copied_bytes;  // from box to box; of all boxes of a step, as copies count them
  int tap_bytes;                // from the inputs of a tap to those of the next
  int stages, stage_bytes;      // of the ring of inputs
};

constexpr int kTmaBarrierBytes = 8;  // kBarrierBytes of framework/instructions/barrier.cuh

/// Bytes of a block's shared memory besides TmaVariant::shared_bytes: filters with a barrier a step, inputs with a pair
/// of barriers a stage, and a barrier for each of two warpgroups.
constexpr int64_t tma_kept_bytes(const TmaKeptSizes& sizes) {
  return int64_t{sizes.steps} * (sizes.step_filter_bytes + kTmaBarrierBytes) +
         int64_t{sizes.stages} * (sizes.stage_bytes + 2 * kTmaBarrierBytes) + 2 * kTmaBarrierBytes;
}

}  // namespace lenslet
