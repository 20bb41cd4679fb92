#include "api/host_memory.h"

#include "framework/base/error.h"
#include "framework/device/device.h"
#include "framework/device/runtime.h"

namespace lenslet {

void* allocate_host_memory(size_t bytes) {
  const CudaStatus& status = cuda_status();
  if (!status.usable)
    throw UnavailableError(
        concat("page-locked memory needs a GPU: ", status.reason, "; ordinary memory works everywhere"));
  return bytes == 0 ? nullptr : runtime::allocate_pinned(bytes);
}

void free_host_memory(void* memory) noexcept {
  if (memory) runtime::release_pinned(memory);
}

}  // namespace lenslet
