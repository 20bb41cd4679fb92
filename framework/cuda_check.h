// Checks of CUDA calls and launches. Internal: only files that already include CUDA headers include this one.
#pragma once

#include <cuda_runtime_api.h>

namespace lenslet {

/// Throws MemoryError for cudaErrorMemoryAllocation, else DeviceError, with expression, error name, text,
/// place and, where one is known, the remedy.
[[noreturn]] void throw_cuda_error(cudaError_t error, const char* expression, const char* file, int line);

}  // namespace lenslet

/// Throws when a CUDA runtime call fails.
#define LENSLET_CUDA_CHECK(expression)                                             \
  do {                                                                             \
    const cudaError_t lenslet_error = (expression);                                \
    if (lenslet_error != cudaSuccess)                                              \
      ::lenslet::throw_cuda_error(lenslet_error, #expression, __FILE__, __LINE__); \
  } while (false)

/// Goes right after every launch; `kernel` names it in the message.
#define LENSLET_CUDA_CHECK_LAUNCH(kernel)                                                  \
  do {                                                                                     \
    const cudaError_t lenslet_error = cudaGetLastError();                                  \
    if (lenslet_error != cudaSuccess)                                                      \
      ::lenslet::throw_cuda_error(lenslet_error, "launch of " kernel, __FILE__, __LINE__); \
  } while (false)
