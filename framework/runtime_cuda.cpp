// The CUDA side of framework/runtime.h.
#include <cuda_runtime_api.h>

#include <string>

#include "framework/cuda_check.h"
#include "framework/error.h"
#include "framework/runtime.h"

namespace lenslet {

namespace {

const char* remedy(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "; install a driver that supports this CUDA runtime, or use --device cpu";
    case cudaErrorNoKernelImageForDevice:
      return "; this build has no code for the device: rebuild with its CMAKE_CUDA_ARCHITECTURES";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
      return "; the CUDA context is lost: run under compute-sanitizer to find the access, and start the "
             "program again";
    default:
      return "";
  }
}

}  // namespace

void throw_cuda_error(cudaError_t error, const char* expression, const char* file, int line) {
  (void)cudaGetLastError();  // an error that is told must not turn up again at the next launch
  const std::string message =
      concat(expression, " failed: ", cudaGetErrorName(error), " (", static_cast<int>(error),
             "): ", cudaGetErrorString(error), " at ", file, ":", line, remedy(error));
  if (error == cudaErrorMemoryAllocation) throw MemoryError(message);
  throw DeviceError(message);
}

namespace runtime {

namespace {

std::string why_unusable(cudaError_t error, int driver_version, int runtime_version) {
  const std::string needed = concat(runtime_version / 1000, ".", runtime_version % 1000 / 10);
  if (driver_version == 0) return "no NVIDIA driver is loaded";
  if (error == cudaErrorInsufficientDriver) {
    return concat("the NVIDIA driver supports CUDA ", driver_version / 1000, ".", driver_version % 1000 / 10,
                  ", this build needs ", needed);
  }
  if (error == cudaErrorStubLibrary) return "libcuda is the toolkit's stub, not a driver";
  if (error == cudaErrorNoDevice) return "the driver sees no CUDA device (is CUDA_VISIBLE_DEVICES empty?)";
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

// Whether CMAKE_CUDA_ARCHITECTURES holds machine code of the same major version, or PTX not newer than the
// device.
bool has_code_for(int capability, const std::string& architectures) {
  size_t at = 0;
  while (at < architectures.size()) {
    size_t end = architectures.find(';', at);
    if (end == std::string::npos) end = architectures.size();
    const std::string entry = architectures.substr(at, end - at);
    at = end + 1;
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
  int count = 0;  // left untouched by a failing call
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
  if (count == 0) status.reason = "the driver sees no CUDA device (is CUDA_VISIBLE_DEVICES empty?)";
  if (count > 0 && !status.usable) {
    status.reason = concat("this build holds code for ", status.architectures, ", the device needs ",
                           status.devices[0].compute_capability);
  }
  return status;
}

int set_device(int ordinal) {
  int previous = 0;
  LENSLET_CUDA_CHECK(cudaGetDevice(&previous));
  if (previous != ordinal) LENSLET_CUDA_CHECK(cudaSetDevice(ordinal));
  return previous;
}

void restore_device(int ordinal) noexcept { (void)cudaSetDevice(ordinal); }

size_t free_memory() {
  size_t free_bytes = 0, total_bytes = 0;
  LENSLET_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

void* allocate(size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // not sticky: the caller may go on with less
    size_t free_bytes = 0, total_bytes = 0;
    (void)cudaMemGetInfo(&free_bytes, &total_bytes);
    throw MemoryError(concat("out of device memory: ", bytes, " bytes needed, ", free_bytes, " of ",
                             total_bytes, " free; use a smaller batch or problem"));
  }
  LENSLET_CUDA_CHECK(error);
  return data;
}

void release(void* data) noexcept { (void)cudaFree(data); }

void* allocate_pinned(size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaMallocHost(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw MemoryError(
        concat("out of page-locked host memory: ", bytes, " bytes needed; use a smaller batch"));
  }
  LENSLET_CUDA_CHECK(error);
  return data;
}

void release_pinned(void* data) noexcept { (void)cudaFreeHost(data); }

void copy_async(void* dst, const void* src, size_t bytes, void* stream) {
  LENSLET_CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)));
}

void fill_async(void* dst, int byte, size_t bytes, void* stream) {
  LENSLET_CUDA_CHECK(cudaMemsetAsync(dst, byte, bytes, static_cast<cudaStream_t>(stream)));
}

void throw_on_unreported_error() { LENSLET_CUDA_CHECK_LAUNCH("a kernel that nobody checked"); }

void* create_stream() {
  cudaStream_t stream = nullptr;
  LENSLET_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void destroy_stream(void* stream) noexcept { (void)cudaStreamDestroy(static_cast<cudaStream_t>(stream)); }

void synchronize_stream(void* stream) {
  LENSLET_CUDA_CHECK(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

void* create_event() {
  cudaEvent_t event = nullptr;
  LENSLET_CUDA_CHECK(cudaEventCreate(&event));
  return event;
}

void destroy_event(void* event) noexcept { (void)cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

void record_event(void* event, void* stream) {
  LENSLET_CUDA_CHECK(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)));
}

void synchronize_event(void* event) {
  LENSLET_CUDA_CHECK(cudaEventSynchronize(static_cast<cudaEvent_t>(event)));
}

double elapsed_ns(void* from, void* to) {
  float ms = 0;
  LENSLET_CUDA_CHECK(cudaEventElapsedTime(&ms, static_cast<cudaEvent_t>(from), static_cast<cudaEvent_t>(to)));
  return static_cast<double>(ms) * 1e6;
}

void begin_capture(void* stream) {
  LENSLET_CUDA_CHECK(
      cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal));
}

void* end_capture(void* stream, bool discard) {
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
  if (discard) {
    if (graph) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    return nullptr;
  }
  LENSLET_CUDA_CHECK(error);
  cudaGraphExec_t exec = nullptr;
  const cudaError_t instantiated = cudaGraphInstantiate(&exec, graph, 0);
  (void)cudaGraphDestroy(graph);
  LENSLET_CUDA_CHECK(instantiated);
  return exec;
}

void launch_graph(void* graph, void* stream) {
  LENSLET_CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
}

void destroy_graph(void* graph) noexcept { (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

void hold_stream(void* stream, void (*wait)(void*), void* argument) {
  LENSLET_CUDA_CHECK(cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), wait, argument));
}

}  // namespace runtime
}  // namespace lenslet
