// Stand-ins for the functions of the CUDA runtime: two GPUs, of which each can fail or hang.
#pragma once

#include <vector>

namespace lenslet::two_gpus {

enum class State { kFine, kFaulty, kHanging };

/// From now on: kFaulty returns an error from every call for that GPU, kHanging does not finish what was enqueued.
void set(int ordinal, State state);
/// The ordinals of the GPUs for which the runtime was called while they were not fine, since the last set(); queries
/// that find it out included.
int calls_while_lost(int ordinal);
/// How often the runtime was asked for the number of GPUs, which starts CUDA.
int counts();
/// Allocations that exist: of a GPU, or page-locked.
int allocations(int ordinal);
int pinned_allocations();

}  // namespace lenslet::two_gpus
