// Which GPU a kernel needs, from its head in the sources: the line "requires" names a compute capability, or an
// architecture with its own instructions ("sm_90a").
#pragma once

#include <map>
#include <string>

namespace lenslet {

/// By the kernel's name without template arguments; kernels that any supported GPU has are not listed.
struct KernelNeed {
  int min_capability = 0;  // compute capability: 80 for 8.0
  bool exactly = false;    // no later one has the instructions
};
const std::map<std::string, KernelNeed>& kernel_needs();

/// Whether a GPU of that compute capability has what the kernel needs. `name` may have a namespace and template
/// arguments.
bool gpu_has_kernel(const std::string& name, int compute_capability);

}  // namespace lenslet
