// A GPU that runs nothing: the program's calls of the CUDA runtime succeed, its device memory is addresses alone, and
// its launches are recorded. So what host code decides for a card can be tested without one. Programs that link
// simulated_gpu.cpp pass its wrapped calls to the linker: lenslet_simulate_gpu() in tests/CMakeLists.txt.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace lenslet::simulated_gpu {

/// What the runtime tells of the card.
struct Card {
  int multiprocessors, compute_capability, shared_bytes_per_block;
};

/// One launch; its arguments lie at `arguments` until the visitor returns.
struct Launch {
  const void* kernel;  // as registered
  dim3 grid, block;
  void** arguments;
};

/// Every kernel in the program.
struct Kernel {
  const void* address;
  std::string name;  // demangled, with template arguments: "lenslet::conv_direct_any_kernel<4, 1>"
};

/// The card from now on.
void insert(const Card& card);
/// Called for each launch from now on.
void on_launch(void (*visit)(const Launch& launch));
/// In the order in which the program registers them.
const std::vector<Kernel>& kernels();

}  // namespace lenslet::simulated_gpu
