// A GPU that executes nothing: the program's calls of the CUDA runtime succeed, its device memory has addresses but no
// contents, and its launches are recorded. This tests the host's decisions for a card without one. Programs that link
// simulated_gpu.cpp pass its wrapped calls to the linker: lenslet_simulate_gpu() in tests/CMakeLists.txt.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace lenslet::simulated_gpu {

/// The card's properties as the runtime reports them.
struct Card {
  int multiprocessors, compute_capability, shared_bytes_per_block;
};

/// One launch; `arguments` is valid until the visitor returns.
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

/// Sets the simulated card.
void insert(const Card& card);
/// Sets the function that is called for each launch.
void on_launch(std::function<void(const Launch& launch)> visit);
/// Sets the function that is called after each read of a kernel's attributes, before the caller sees them.
void on_attributes(std::function<void()> visit);
/// The kernels in the order in which the program registers them.
const std::vector<Kernel>& kernels();

}  // namespace lenslet::simulated_gpu
