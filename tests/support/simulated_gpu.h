// GPUs that execute nothing: the program's calls of the CUDA runtime succeed, their device memory has addresses but no
// contents, and launches are recorded. This tests the host's decisions for GPUs that are not there: a launch beyond a
// GPU's limits fails as on the GPU. Programs that link simulated_gpu.cpp pass its wrapped calls to the linker:
// lenslet_simulate_gpu() in tests/CMakeLists.txt.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace lenslet::simulated_gpu {

/// A GPU's properties as the runtime reports them. What a row leaves out is that of an H200.
struct Gpu {
  int multiprocessors, compute_capability, shared_bytes_per_block;
  const char* name = "simulated";
  int shared_bytes_per_multiprocessor = 228 * 1024, threads_per_multiprocessor = 2048;
  int blocks_per_multiprocessor = 32;
  int gpu_clusters = 8;  // GPCs: the blocks of a cluster are on the multiprocessors of one
  int l2_mib = 60, memory_gib = 141;
};

/// One launch; `arguments` is valid until the visitor returns.
struct Launch {
  const void* kernel;  // as registered
  dim3 grid, block;
  void** arguments;
  size_t shared_bytes = 0;  // dynamic
  int cluster_blocks = 1;
};

/// Every kernel in the program.
struct Kernel {
  const void* address;
  std::string name;  // demangled, with template arguments: "lenslet::conv_direct_any_kernel<4, 1>"
};

/// Sets the simulated GPUs, in the order of their ordinals; one of them is current. cuda_status() keeps those that it
/// finds at its first call.
void insert(const std::vector<Gpu>& gpus);
/// One GPU.
void insert(const Gpu& gpu);
/// Sets the function that is called for each launch.
void on_launch(std::function<void(const Launch& launch)> visit);
/// Sets the function that is called after each read of a kernel's attributes, before the caller sees them.
void on_attributes(std::function<void()> visit);
/// Sets the function that says whether the work of a stream is done, wherever the program asks. Without one it is.
void on_query(std::function<bool()> is_done);
/// The kernels in the order in which the program registers them.
const std::vector<Kernel>& kernels();
/// Registers of a thread, by which a multiprocessor's blocks are counted: those that the bounds of the kernels whose
/// name contains `part` allow. Of others: as many as let a multiprocessor be full.
void set_registers(const std::string& part, int registers);

}  // namespace lenslet::simulated_gpu
