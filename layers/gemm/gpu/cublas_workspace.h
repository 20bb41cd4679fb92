// The workspace that cuBLAS is given: known to its module and to whoever plans memory before the module is opened.
#pragma once

#include <cstddef>

namespace lenslet {

/// What NVIDIA's manual advises for Hopper and later; older cards would take 4 MiB.
inline constexpr size_t kCublasWorkspaceBytes = size_t{32} << 20;

}  // namespace lenslet
