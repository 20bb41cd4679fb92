// The CUDA side of framework/device/runtime.h.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/clock.h"
#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/device/cuda_check.h"
#include "framework/device/device_health.h"
#include "framework/device/device_memory.h"
#include "framework/device/gpu_limits.h"
#include "framework/device/gpu_queries.h"
#include "framework/device/runtime.h"
#include "framework/device/stream.h"

namespace lenslet {

namespace {

// Errors after which every call of the context fails.
bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

const char* remedy(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "; install a driver that supports this CUDA runtime, or use device cpu";
    case cudaErrorNoKernelImageForDevice:
      return "; this build has no code for the device: rebuild with its CMAKE_CUDA_ARCHITECTURES";
    default:
      return is_sticky(error) ? "; the CUDA context is lost, start the program again: LENSLET_CHECK_LAYERS=1 "
                                "names the layer, compute-sanitizer the access"
                              : "";
  }
}

}  // namespace

void throw_cuda_error(cudaError_t error, const char* expression, const char* file, int line) {
  throw_if_device_lost();    // report the first error, not its consequences
  (void)cudaGetLastError();  // a reported error must not appear again at the next launch
  const std::string name =
      concat(cudaGetErrorName(error), " (", static_cast<int>(error), "): ", cudaGetErrorString(error));
  const std::string place = concat(" at ", file, ":", line, remedy(error));
  if (is_sticky(error)) {
    // Kernels run asynchronously: the call that returns the error may not be its cause.
    const std::string message = concat("a kernel failed: ", name, ", found by ", expression, place);
    mark_device_lost(message);
    throw DeviceError(message);
  }
  const std::string message = concat(expression, " failed: ", name, place);
  if (error == cudaErrorMemoryAllocation) throw MemoryError(message);
  throw DeviceError(message);
}

void allow_shared_bytes(const void* kernel, size_t bytes) {
  static std::mutex reading_and_raising;
  const std::lock_guard<std::mutex> lock(reading_and_raising);
  cudaFuncAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  if (attributes.sharedSizeBytes + bytes <= GpuLimits::kSharedBytes) return;
  const int max_bytes = std::max(static_cast<int>(bytes), attributes.maxDynamicSharedSizeBytes);
  LENSLET_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_bytes));
}

namespace runtime {

namespace {

constexpr const char* kNoDevice = "the driver finds no CUDA device (is CUDA_VISIBLE_DEVICES empty?)";

std::string why_unusable(cudaError_t error, int driver_version, int runtime_version) {
  const std::string needed = cuda_version_text(runtime_version);
  if (driver_version == 0) return "no NVIDIA driver is loaded";
  if (error == cudaErrorInsufficientDriver) {
    return concat("the NVIDIA driver supports CUDA ", cuda_version_text(driver_version),
                  ", this build needs ", needed);
  }
  if (error == cudaErrorStubLibrary) return "libcuda is the toolkit's stub, not a driver";
  if (error == cudaErrorNoDevice) return kNoDevice;
  return concat(cudaGetErrorName(error), ": ", cudaGetErrorString(error));
}

CudaDeviceInfo describe_device(int ordinal) {
  CudaDeviceInfo info;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) {
    (void)cudaGetLastError();
    info.name = "unreadable device";
    return info;
  }
  info.name = properties.name;
  info.compute_capability = properties.major * 10 + properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.memory_bytes = properties.totalGlobalMem;
  info.l2_bytes = static_cast<size_t>(properties.l2CacheSize);
  info.shared_bytes_per_block_optin = properties.sharedMemPerBlockOptin;
  return info;
}

// An unchecked launch failure from before a wait, whose queries would clear it.
thread_local cudaError_t unreported = cudaSuccess;

void keep_unreported_error() {
  if (unreported == cudaSuccess && cudaPeekAtLastError() != cudaSuccess) unreported = cudaGetLastError();
}

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits like the runtime's call, but by polling and with a time limit, because a kernel that never ends would hang the
// program.
template <typename Query>
void wait_until_ready(const char* what, Query&& query) {
  constexpr unsigned kQueriesPerLook = 64;  // at the clock
  constexpr unsigned kPauses = 16;          // about a microsecond
  throw_if_device_lost();
  keep_unreported_error();
  double began = 0;
  for (unsigned queries = 1;; ++queries) {
    const cudaError_t error = query();
    if (error != cudaErrorNotReady) {
      if (queries > 1) (void)cudaGetLastError();  // "not ready" counts as an error there
      if (error != cudaSuccess)
        throw_cuda_error(error, concat("waiting for ", what).c_str(), __FILE__, __LINE__);
      return;
    }
    // Later queries come further apart, so that threads that wait leave the driver to those that enqueue.
    for (unsigned i = 0; queries > kQueriesPerLook && i < kPauses; ++i) pause();
    if (queries % kQueriesPerLook != 0) continue;
    const double now = host_now_ns();
    if (began == 0) began = now;
    if (now - began >= device_timeout_s() * 1e9) throw_device_timeout();
  }
}

void wait_for_stream(cudaStream_t stream) {
  wait_until_ready("the stream", [stream] { return cudaStreamQuery(stream); });
}

// The streams of this process. Freeing memory waits inside the runtime for all work of the device, or, if it is memory
// of the host, of every device, without a time limit. So the work is waited for here first.
class LiveStreams {
 public:
  void add(cudaStream_t stream, int device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.push_back({stream, device, false});
  }
  void remove(cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [stream](const Entry& entry) { return entry.stream == stream; }),
                   entries_.end());
  }
  /// A stream under capture is skipped: a query would end the capture, and captured work does not run.
  void set_capturing(cudaStream_t stream, bool capturing) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Entry& entry : entries_) {
      if (entry.stream == stream) entry.capturing = capturing;
    }
  }
  /// The devices that have streams.
  std::vector<int> devices() {
    std::vector<int> found;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry& entry : entries_) {
      if (std::find(found.begin(), found.end(), entry.device) == found.end()) found.push_back(entry.device);
    }
    return found;
  }
  /// Waits for the work that every stream of the current device received before this call. Throws DeviceError.
  void wait() {
    for (const Event& mark : mark_unfinished()) {
      wait_until_ready("work that may use the memory to be freed",
                       [&] { return cudaEventQuery(mark.get()); });
    }
  }

 private:
  struct Entry {
    cudaStream_t stream;
    int device;
    bool capturing;
  };
  struct EventDestroyer {
    void operator()(cudaEvent_t event) const noexcept { destroy_event(event); }
  };
  using Event = std::unique_ptr<CUevent_st, EventDestroyer>;

  // Other threads may enqueue more work meanwhile; an event marks the end of the present work.
  std::vector<Event> mark_unfinished() {
    std::vector<Event> marks;
    const std::lock_guard<std::mutex> lock(mutex_);
    keep_unreported_error();
    int current = 0;
    LENSLET_CUDA_CHECK(cudaGetDevice(&current));
    for (const Entry& entry : entries_) {
      if (entry.device != current || entry.capturing || cudaStreamQuery(entry.stream) != cudaErrorNotReady)
        continue;
      (void)cudaGetLastError();  // "not ready" counts as an error there
      cudaEvent_t mark = nullptr;
      LENSLET_CUDA_CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
      marks.emplace_back(mark);
      LENSLET_CUDA_CHECK(cudaEventRecord(mark, entry.stream));
    }
    return marks;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

LiveStreams& live_streams() {
  static auto* const streams = new LiveStreams;  // never destroyed: streams of static lifetime end after it
  return *streams;
}

// Waits for the work of that device, with the time limit. A loss marks it; the next call reports any other failure.
// Returns whether it can still be used.
bool wait_for_device(int ordinal) noexcept {
  if (device_lost(Device::cuda(ordinal))) return false;
  try {
    const DeviceGuard guard(Device::cuda(ordinal));
    live_streams().wait();
  } catch (const std::exception&) {
  }
  return !device_lost(Device::cuda(ordinal));
}

// Pageable host memory, which the runtime copies through its own buffers.
bool is_pageable(const void* data) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) == cudaSuccess)
    return attributes.type == cudaMemoryTypeUnregistered;
  (void)cudaGetLastError();
  return false;
}

// Whether CMAKE_CUDA_ARCHITECTURES, with commas, contains machine code of the same major version, or PTX that is not
// newer than the device.
bool has_code_for(int capability, const std::string& architectures) {
  for (const std::string& entry : split(architectures, ",")) {
    const int built = std::atoi(entry.c_str());
    if (built == 0) continue;
    const bool real = entry.find("virtual") == std::string::npos;
    const bool ptx = entry.find("real") == std::string::npos;
    if (real && built / 10 == capability / 10 && built <= capability) return true;
    if (ptx && built <= capability) return true;
  }
  return false;
}

}  // namespace

CudaStatus query_status() noexcept {
  CudaStatus status;
  status.built = true;
  status.architectures = LENSLET_CUDA_ARCHITECTURES;
  (void)cudaDriverGetVersion(&status.driver_version);
  (void)cudaRuntimeGetVersion(&status.runtime_version);
  int count = 0;  // unchanged if the call fails
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    status.reason = why_unusable(error, status.driver_version, status.runtime_version);
    return status;
  }
  for (int i = 0; i < count; ++i) {
    status.devices.push_back(describe_device(i));
    CudaDeviceInfo& info = status.devices.back();
    info.has_code = has_code_for(info.compute_capability, status.architectures);
    status.usable = status.usable || info.has_code;
  }
  if (count == 0) status.reason = kNoDevice;
  if (count > 0 && !status.usable) {
    status.reason =
        concat("this build has code for ", status.architectures, ", cuda:0 has compute capability ",
               capability_text(status.devices[0].compute_capability));
  }
  return status;
}

int set_device(int ordinal) {
  const int previous = current_device();
  if (previous == ordinal) {
    throw_if_device_lost();
    return previous;
  }
  throw_if_device_lost(Device::cuda(ordinal));
  LENSLET_CUDA_CHECK(cudaSetDevice(ordinal));
  return previous;
}

void restore_device(int ordinal) noexcept {
  if (!device_lost(Device::cuda(ordinal))) (void)cudaSetDevice(ordinal);
}

int current_device() noexcept {
  int ordinal = 0;
  if (cudaGetDevice(&ordinal) != cudaSuccess) (void)cudaGetLastError();
  return ordinal;
}

std::string pci_address(int ordinal) {
  char text[32] = "";
  if (cudaDeviceGetPCIBusId(text, sizeof text, ordinal) == cudaSuccess) return text;
  (void)cudaGetLastError();
  return {};
}

size_t free_memory() {
  throw_if_device_lost();
  size_t free_bytes = 0, total_bytes = 0;
  LENSLET_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

void* allocate(size_t bytes) {
  throw_if_device_lost();
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // not sticky: the caller may continue with less memory
    size_t free_bytes = 0, total_bytes = 0;
    (void)cudaMemGetInfo(&free_bytes, &total_bytes);
    throw OutOfDeviceMemory(concat("out of device memory: ", bytes, " bytes needed, ", free_bytes, " of ",
                                   total_bytes, " free; use a smaller batch or problem"),
                            bytes, free_bytes);
  }
  if (error != cudaSuccess) throw_cuda_error(error, "cudaMalloc", __FILE__, __LINE__);
  return data;
}

// After the device is lost its memory is gone, and a call would fail or wait forever.
void release(void* data, int ordinal) noexcept {
  if (data && wait_for_device(ordinal)) (void)cudaFree(data);
}

void* allocate_on(size_t bytes, void* stream) {
  throw_if_device_lost();
  void* data = nullptr;
  LENSLET_CUDA_CHECK(cudaMallocAsync(&data, bytes, static_cast<cudaStream_t>(stream)));
  return data;
}

void release_on(void* data, void* stream) noexcept {
  if (data && !device_lost()) (void)cudaFreeAsync(data, static_cast<cudaStream_t>(stream));
}

void* allocate_pinned(size_t bytes) {
  throw_if_device_lost();
  void* data = nullptr;
  const cudaError_t error = cudaMallocHost(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw MemoryError(
        concat("out of page-locked host memory: ", bytes, " bytes needed; use a smaller batch"));
  }
  if (error != cudaSuccess) throw_cuda_error(error, "cudaMallocHost", __FILE__, __LINE__);
  return data;
}

void release_pinned(void* data) noexcept {
  if (!data) return;
  for (const int ordinal : live_streams().devices()) (void)wait_for_device(ordinal);
  if (!device_lost()) (void)cudaFreeHost(data);
}

MemoryInfo memory_at(const void* data) {
  throw_if_device_lost();
  cudaPointerAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaPointerGetAttributes(&attributes, data));
  const MemoryKind kind = attributes.type == cudaMemoryTypeUnregistered ? MemoryKind::kPageable
                          : attributes.type == cudaMemoryTypeHost       ? MemoryKind::kPinned
                                                                        : MemoryKind::kDevice;
  return {kind, attributes.device};
}

void copy_async(void* dst, const void* src, size_t bytes, void* stream_handle) {
  throw_if_device_lost();
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  LENSLET_CUDA_CHECK(cudaStreamIsCapturing(stream, &capture));
  // A copy of pageable memory waits inside the runtime, without a time limit, for earlier work of the stream.
  if (capture == cudaStreamCaptureStatusNone && (is_pageable(dst) || is_pageable(src)))
    wait_for_stream(stream);
  LENSLET_CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream));
}

void fill_async(void* dst, int byte, size_t bytes, void* stream) {
  throw_if_device_lost();
  LENSLET_CUDA_CHECK(cudaMemsetAsync(dst, byte, bytes, static_cast<cudaStream_t>(stream)));
}

void throw_on_unreported_error() {
  throw_if_device_lost();
  keep_unreported_error();
  if (const cudaError_t error = std::exchange(unreported, cudaSuccess); error != cudaSuccess)
    throw_cuda_error(error, "unchecked kernel launch", __FILE__, __LINE__);
}

void* default_stream() noexcept { return cudaStreamLegacy; }

void* create_stream() {
  throw_if_device_lost();
  (void)device_timeout_s();  // refuses an invalid value before any wait
  int device = 0;
  LENSLET_CUDA_CHECK(cudaGetDevice(&device));
  cudaStream_t stream = nullptr;
  LENSLET_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  live_streams().add(stream, device);
  return stream;
}

void destroy_stream(void* stream) noexcept {
  live_streams().remove(static_cast<cudaStream_t>(stream));
  if (!device_lost()) (void)cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}

void synchronise_stream(void* stream) { wait_for_stream(static_cast<cudaStream_t>(stream)); }

void* create_event() {
  throw_if_device_lost();
  cudaEvent_t event = nullptr;
  LENSLET_CUDA_CHECK(cudaEventCreate(&event));
  return event;
}

void destroy_event(void* event) noexcept {
  if (!device_lost()) (void)cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

void record_event(void* event, void* stream) {
  throw_if_device_lost();
  LENSLET_CUDA_CHECK(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)));
}

void synchronise_event(void* event) {
  wait_until_ready("an event", [&] { return cudaEventQuery(static_cast<cudaEvent_t>(event)); });
}

bool event_passed(void* event) {
  throw_if_device_lost();
  keep_unreported_error();
  const cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (error != cudaSuccess && error != cudaErrorNotReady)
    throw_cuda_error(error, "cudaEventQuery", __FILE__, __LINE__);
  (void)cudaGetLastError();  // "not ready" counts as an error there
  return error == cudaSuccess;
}

void wait_event(void* stream, void* event) {
  throw_if_device_lost();
  LENSLET_CUDA_CHECK(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0));
}

double elapsed_ns(void* from, void* to) {
  throw_if_device_lost();
  float ms = 0;
  LENSLET_CUDA_CHECK(cudaEventElapsedTime(&ms, static_cast<cudaEvent_t>(from), static_cast<cudaEvent_t>(to)));
  return static_cast<double>(ms) * 1e6;
}

void begin_capture(void* stream) {
  throw_if_device_lost();
  auto* const captured = static_cast<cudaStream_t>(stream);
  live_streams().set_capturing(captured,
                               true);  // before it begins, because a query of another thread would end it
  const cudaError_t error = cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) return;
  live_streams().set_capturing(captured, false);
  throw_cuda_error(error, "cudaStreamBeginCapture", __FILE__, __LINE__);
}

uint64_t capture_id(void* stream) {
  throw_if_device_lost();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  LENSLET_CUDA_CHECK(cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(stream), &status, &id));
  if (status == cudaStreamCaptureStatusInvalidated)
    throw DeviceError("the stream records a CUDA graph, and the capture has failed before this call");
  return status == cudaStreamCaptureStatusActive ? id : 0;
}

void* end_capture(void* stream, bool discard) {
  cudaGraph_t graph = nullptr;
  if (discard && device_lost(Device::cuda(current_device()))) return nullptr;
  const cudaError_t error = cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
  live_streams().set_capturing(static_cast<cudaStream_t>(stream), false);
  if (discard) {
    if (graph) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    return nullptr;
  }
  if (error != cudaSuccess) throw_cuda_error(error, "cudaStreamEndCapture", __FILE__, __LINE__);
  cudaGraphExec_t exec = nullptr;
  const cudaError_t instantiated = cudaGraphInstantiate(&exec, graph, 0);
  (void)cudaGraphDestroy(graph);
  if (instantiated != cudaSuccess) throw_cuda_error(instantiated, "cudaGraphInstantiate", __FILE__, __LINE__);
  return exec;
}

void launch_graph(void* graph, void* stream) {
  throw_if_device_lost();
  LENSLET_CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
}

void destroy_graph(void* graph) noexcept {
  if (!device_lost()) (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

void hold_stream(void* stream, void (*wait)(void*), void* argument) {
  throw_if_device_lost();
  LENSLET_CUDA_CHECK(cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), wait, argument));
}

}  // namespace runtime
}  // namespace lenslet
