// The check after the launch of a kernel that is chosen from a table. Internal: only files that already include CUDA
// headers include this one.
#pragma once

#include <string>

#include "framework/device/cuda_check.h"

/// LENSLET_CUDA_CHECK_LAUNCH for a name known only at run time, a `const char*`.
#define LENSLET_CUDA_CHECK_LAUNCH_OF(kernel)                                                             \
  do {                                                                                                   \
    const cudaError_t lenslet_error = cudaGetLastError();                                                \
    if (lenslet_error != cudaSuccess)                                                                    \
      ::lenslet::throw_cuda_error(lenslet_error, ("launch of " + std::string(kernel)).c_str(), __FILE__, \
                                  __LINE__);                                                             \
  } while (false)
