// The interface between the framework and the CUDA runtime. Internal: runtime_cuda.cpp implements it with CUDA;
// runtime_none.cpp, in a build without CUDA, throws UnavailableError. Handles are void*, so that no CUDA type appears.
// All functions except the noexcept ones throw DeviceError, MemoryError or UnavailableError. They act on the thread's
// current device, which a DeviceGuard sets; if that device is lost, they do not call the runtime. Once any device is
// lost, page-locked memory, streams, events and graphs are leaked, because the runtime may wait for the lost device to
// release them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "framework/device/device.h"

namespace lenslet::runtime {

CudaStatus query_status() noexcept;
/// Makes a device current for this thread; returns the previous one.
int set_device(int ordinal);
void restore_device(int ordinal) noexcept;
/// The current device of this thread, also if it is lost.
int current_device() noexcept;
/// The PCI address of a device: "0000:3B:00.0"; empty if the runtime reports none.
std::string pci_address(int ordinal);
size_t free_memory();

/// On the current device.
void* allocate(size_t bytes);
/// Memory of device `ordinal`, whichever is current.
void release(void* data, int ordinal) noexcept;
/// In the order of a stream of the current device, without waiting.
void* allocate_on(size_t bytes, void* stream);
void release_on(void* data, void* stream) noexcept;
/// Page-locked host memory.
void* allocate_pinned(size_t bytes);
void release_pinned(void* data) noexcept;

/// Pageable or page-locked memory of the host, or memory of a device.
enum class MemoryKind { kPageable, kPinned, kDevice };
/// The memory at an address, as the driver reports it; kPageable for memory that is not CUDA's.
struct MemoryInfo {
  MemoryKind kind = MemoryKind::kPageable;
  /// The device that has the memory or that it was page-locked for; managed memory counts as the device's.
  int ordinal = 0;
};
MemoryInfo memory_at(const void* data);

void copy_async(void* dst, const void* src, size_t bytes, void* stream);
void fill_async(void* dst, int byte, size_t bytes, void* stream);
/// Fills the shared memory of every multiprocessor of the current device, so that a kernel that reads it before writing
/// does not find zeros.
void fill_shared_async(int byte, void* stream);

/// Unpacks pixels (framework/tensor/pixels.h), [pair_bytes] to [2 * pair_bytes]. The bytes are a multiple of 8; `pairs`
/// is aligned to 8 bytes and may be page-locked host memory, `pixels` is aligned to 16.
void unpack_pixels_async(const void* pairs, int64_t pair_bytes, void* pixels, void* stream);

/// Throws if an earlier call or launch of this thread failed unchecked.
void throw_on_unreported_error();

void* create_stream();
/// The default stream of the current device, which waits for all blocking streams.
void* default_stream() noexcept;
void destroy_stream(void* stream) noexcept;
void synchronise_stream(void* stream);

void* create_event();
void destroy_event(void* event) noexcept;
void record_event(void* event, void* stream);
void synchronise_event(void* event);
/// Whether the work before the event is done, without waiting.
bool event_passed(void* event);
/// Holds later work of the stream back until the event has been passed.
void wait_event(void* stream, void* event);
double elapsed_ns(void* from, void* to);

void begin_capture(void* stream);
/// The id of the capture that the stream takes part in; 0 outside a capture.
uint64_t capture_id(void* stream);
/// The captured work as an executable graph; with `discard`, null without an error.
void* end_capture(void* stream, bool discard);
void launch_graph(void* graph, void* stream);
void destroy_graph(void* graph) noexcept;

/// Enqueues the host function wait(argument), which holds the stream back until it returns.
void hold_stream(void* stream, void (*wait)(void*), void* argument);

}  // namespace lenslet::runtime
