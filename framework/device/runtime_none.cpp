// framework/device/runtime.h in a build without CUDA: every request is refused.
#include "framework/base/error.h"
#include "framework/device/runtime.h"

namespace lenslet::runtime {

namespace {
[[noreturn]] void refuse() {
  throw UnavailableError(
      "this build of Lenslet has no GPU side; configure with -DLENSLET_CUDA=ON, or use device cpu");
}
}  // namespace

CudaStatus query_status() noexcept {
  CudaStatus status;
  status.reason = "this build of Lenslet has no GPU side (configured without CUDA)";
  return status;
}

int set_device(int) { refuse(); }
void restore_device(int) noexcept {}
int current_device() noexcept { return 0; }
std::string pci_address(int) { return {}; }
size_t free_memory() { refuse(); }
void* allocate(size_t) { refuse(); }
void release(void*, int) noexcept {}
void* allocate_on(size_t, void*) { refuse(); }
void release_on(void*, void*) noexcept {}
void* allocate_pinned(size_t) { refuse(); }
void release_pinned(void*) noexcept {}
MemoryInfo memory_at(const void*) { return {}; }
void copy_async(void*, const void*, size_t, void*) { refuse(); }
void fill_async(void*, int, size_t, void*) { refuse(); }
void fill_shared_async(int, void*) { refuse(); }
void unpack_pixels_async(const void*, int64_t, void*, void*) { refuse(); }
void throw_on_unreported_error() {}
void* create_stream() { refuse(); }
void* default_stream() noexcept { return nullptr; }
void destroy_stream(void*) noexcept {}
void synchronise_stream(void*) { refuse(); }
void* create_event() { refuse(); }
void destroy_event(void*) noexcept {}
void record_event(void*, void*) { refuse(); }
void synchronise_event(void*) { refuse(); }
bool event_passed(void*) { refuse(); }
void wait_event(void*, void*) { refuse(); }
double elapsed_ns(void*, void*) { refuse(); }
void begin_capture(void*) { refuse(); }
uint64_t capture_id(void*) { refuse(); }
void* end_capture(void*, bool) { refuse(); }
void launch_graph(void*, void*) { refuse(); }
void destroy_graph(void*) noexcept {}
void hold_stream(void*, void (*)(void*), void*) { refuse(); }

}  // namespace lenslet::runtime
