// The place of this process among those that mpirun started for one command. MPI itself is not needed for it.
#pragma once

#include <optional>
#include <string>

namespace lenslet {

/// Counted from 0.
struct LaunchedRank {
  int rank = 0;   // of all processes
  int size = 1;   // their number
  int local = 0;  // of the processes on this machine
};

/// From the environment variables of Open MPI's mpirun; nullopt if one is not set or is no whole number in its range.
/// `*fault` then names it, the value found and the range.
std::optional<LaunchedRank> launched_rank(std::string* fault = nullptr);

/// The ordinal of the GPU for `device cuda:rank`: one process a GPU, and in turn again if there are more processes.
inline int gpu_of_rank(int local_rank, int gpus) { return local_rank % gpus; }

}  // namespace lenslet
