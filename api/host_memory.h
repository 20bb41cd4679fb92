// Page-locked host memory for the images and answers of calls: a GPU reads it over the bus without a copy by the host.
#pragma once

#include <cstddef>

namespace lenslet {

/// `bytes` of uninitialised memory, aligned to 256 bytes, for every GPU of the process. Null for no bytes. Throws
/// UnavailableError without a usable GPU, MemoryError.
void* allocate_host_memory(size_t bytes);
/// Frees it, once the GPU's work is done; null is allowed.
void free_host_memory(void* memory) noexcept;

}  // namespace lenslet
