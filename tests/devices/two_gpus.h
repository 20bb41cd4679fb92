// Stand-ins for the functions of the CUDA runtime: two GPUs, of which each can fail or hang.
#pragma once

namespace lenslet::two_gpus {

enum class State { kFine, kFaulty, kHanging };

/// From now on: kFaulty returns an error from every call for that GPU, kHanging does not finish what was enqueued.
void set(int ordinal, State state);
/// Calls of the runtime for that GPU since the last set() made it faulty or hanging, queries included.
int calls_while_lost(int ordinal);
/// How often the runtime was asked for the number of GPUs, which starts CUDA.
int counts();
/// Allocations that exist: of a GPU, or page-locked.
int allocations(int ordinal);
int pinned_allocations();

}  // namespace lenslet::two_gpus
