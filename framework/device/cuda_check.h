// Checks of CUDA calls and launches. Internal: only files that already include CUDA headers include this one.
#pragma once

#include <cuda_runtime_api.h>

namespace lenslet {

/// Throws MemoryError for cudaErrorMemoryAllocation, else DeviceError. The message has the expression, the error's name
/// and text, file and line and, if known, the remedy.
[[noreturn]] void throw_cuda_error(cudaError_t error, const char* expression, const char* file, int line);

}  // namespace lenslet

/// Calls throw_cuda_error() if a CUDA runtime call fails.
#define LENSLET_CUDA_CHECK(expression)                                             \
  do {                                                                             \
    const cudaError_t lenslet_error = (expression);                                \
    if (lenslet_error != cudaSuccess)                                              \
      ::lenslet::throw_cuda_error(lenslet_error, #expression, __FILE__, __LINE__); \
  } while (false)

/// Place it directly after every launch. `kernel` is a literal for the message.
#define LENSLET_CUDA_CHECK_LAUNCH(kernel)                                                  \
  do {                                                                                     \
    const cudaError_t lenslet_error = cudaGetLastError();                                  \
    if (lenslet_error != cudaSuccess)                                                      \
      ::lenslet::throw_cuda_error(lenslet_error, "launch of " kernel, __FILE__, __LINE__); \
  } while (false)
