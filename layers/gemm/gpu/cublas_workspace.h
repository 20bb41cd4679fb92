// The workspace of cuBLAS. It is a constant outside the module, so that memory can be planned before the module is
// opened.
#pragma once

#include <cstddef>

namespace lenslet {

/// Bytes that NVIDIA's manual recommends for Hopper and later; 4 MiB would do for older GPUs.
inline constexpr size_t kCublasWorkspaceBytes = size_t{32} << 20;

}  // namespace lenslet
