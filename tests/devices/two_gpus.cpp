#include "tests/devices/two_gpus.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace lenslet::two_gpus {
namespace {

struct Gpu {
  State state = State::kFine;
  int calls = 0;
};

Gpu gpus[2];
std::mutex mutex;
std::map<void*, int> memory;  // by address, its GPU; -1: page-locked
uintptr_t next = uintptr_t{1} << 40;
std::atomic<int> counted{0};
thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t call(int ordinal) {
  const std::lock_guard<std::mutex> lock(mutex);
  Gpu& gpu = gpus[ordinal];
  if (gpu.state != State::kFine) ++gpu.calls;
  return gpu.state == State::kFaulty ? last_error = cudaErrorIllegalAddress : cudaSuccess;
}

cudaError_t query(int ordinal) {
  if (const cudaError_t error = call(ordinal); error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(mutex);
  return gpus[ordinal].state == State::kHanging ? last_error = cudaErrorNotReady : cudaSuccess;
}

cudaError_t allocate(void** data, int ordinal) {
  if (const cudaError_t error = call(current); error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(mutex);
  *data = reinterpret_cast<void*>(next);
  next += uintptr_t{1} << 20;
  memory[*data] = ordinal;
  return cudaSuccess;
}

cudaError_t release(void* data) {
  int ordinal = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    ordinal = memory.at(data);
  }
  if (const cudaError_t error = call(ordinal < 0 ? current : ordinal); error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(mutex);
  memory.erase(data);
  return cudaSuccess;
}

// A stream or event is its GPU's number, in the upper bits so that it is not null.
template <typename Handle>
Handle handle_of(int ordinal) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(ordinal + 1) << 8);
}
template <typename Handle>
int ordinal_of(Handle handle) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(handle) >> 8) - 1;
}

int count(int ordinal) {
  const std::lock_guard<std::mutex> lock(mutex);
  int found = 0;
  for (const auto& [data, of] : memory) found += of == ordinal;
  return found;
}

}  // namespace

void set(int ordinal, State state) {
  const std::lock_guard<std::mutex> lock(mutex);
  gpus[ordinal] = {state, 0};
}
int calls_while_lost(int ordinal) {
  const std::lock_guard<std::mutex> lock(mutex);
  return gpus[ordinal].calls;
}
int counts() { return counted; }
int allocations(int ordinal) { return count(ordinal); }
int pinned_allocations() { return count(-1); }

}  // namespace lenslet::two_gpus

// The linker redirects the program's calls of a function to this one.
using namespace lenslet::two_gpus;
extern "C" {

cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  ++counted;
  *count = 2;
  return cudaSuccess;
}
cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t __wrap_cudaSetDevice(int device) {
  current = device;
  return call(device);
}
cudaError_t __wrap_cudaMalloc(void** data, size_t) { return allocate(data, current); }
cudaError_t __wrap_cudaFree(void* data) { return release(data); }
cudaError_t __wrap_cudaMallocHost(void** data, size_t) { return allocate(data, -1); }
cudaError_t __wrap_cudaFreeHost(void* data) { return release(data); }
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = handle_of<cudaStream_t>(current);
  return call(current);
}
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream) { return call(ordinal_of(stream)); }
cudaError_t __wrap_cudaStreamQuery(cudaStream_t stream) { return query(ordinal_of(stream)); }
cudaError_t __wrap_cudaEventCreate(cudaEvent_t* event) {
  *event = handle_of<cudaEvent_t>(current);
  return call(current);
}
cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return __wrap_cudaEventCreate(event);
}
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t event) { return call(ordinal_of(event)); }
cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t) { return call(ordinal_of(event)); }
cudaError_t __wrap_cudaEventQuery(cudaEvent_t event) { return query(ordinal_of(event)); }
cudaError_t __wrap_cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t __wrap_cudaPeekAtLastError() { return last_error; }
}
