#include "tests/support/simulated_gpu.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>

namespace lenslet::simulated_gpu {
namespace {

Card card{};
std::function<void(const Launch&)> visitor;

struct Configuration {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
} configuration;  // between the two halves of <<<>>>

std::vector<Kernel>& registered() {
  static std::vector<Kernel> kernels;
  return kernels;
}

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = text ? text : name;
  std::free(text);
  if (result.rfind("void ", 0) == 0) result.erase(0, 5);
  // Of "kernel<...>(types)", the part before the types.
  int depth = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      continue;
    }
    depth += result[i] == '<' ? 1 : result[i] == '>' ? -1 : 0;
    if (depth == 0 && result[i] == '(') return result.substr(0, i);
  }
  return result;
}

/// Bytes of dynamic shared memory that a launch may ask for; raised by cudaFuncSetAttribute.
int& shared_limit(const void* kernel) {
  static std::map<const void*, int> limits;
  return limits.emplace(kernel, 48 * 1024).first->second;
}

cudaError_t last_error = cudaSuccess;
std::function<void()> attributes_visitor;

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes) {
  if (shared_bytes > static_cast<size_t>(shared_limit(kernel))) return last_error = cudaErrorInvalidValue;
  if (visitor) visitor({kernel, grid, block, arguments});
  return cudaSuccess;
}

}  // namespace

void insert(const Card& inserted) { card = inserted; }
void on_launch(std::function<void(const Launch&)> visit) { visitor = std::move(visit); }
void on_attributes(std::function<void()> visit) { attributes_visitor = std::move(visit); }
const std::vector<Kernel>& kernels() { return registered(); }

}  // namespace lenslet::simulated_gpu

// The linker redirects the program's calls of a function to this one; __real_… calls the runtime.
using namespace lenslet::simulated_gpu;
extern "C" {

void __real___cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                   int*);
void __wrap___cudaRegisterFunction(void** binary, const char* host, char* device, const char* name, int limit,
                                   uint3* a, uint3* b, dim3* c, dim3* d, int* e) {
  registered().push_back({host, demangled(name)});
  __real___cudaRegisterFunction(binary, host, device, name, limit, a, b, c, d, e);
}

unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  configuration = {grid, block, shared_bytes, stream};
  return 0;
}
cudaError_t __wrap___cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared_bytes = configuration.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}
// Toolkits before 13 launch by the function's address; later ones by a handle, which is the address here.
cudaError_t __wrap___cudaGetKernel(const void** handle, const void* function) {
  *handle = function;
  return cudaSuccess;
}
cudaError_t __wrap___cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                      size_t shared_bytes, cudaStream_t) {
  return launch(kernel, grid, block, arguments, shared_bytes);
}
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes, cudaStream_t) {
  return launch(kernel, grid, block, arguments, shared_bytes);
}

cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t __wrap_cudaSetDevice(int) { return cudaSuccess; }
cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = card.multiprocessors;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = card.compute_capability / 10;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = card.compute_capability % 10;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = card.shared_bytes_per_block;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}
cudaError_t __wrap_cudaMalloc(void** data, size_t bytes) {
  static uintptr_t next = uintptr_t{1} << 40;
  *data = reinterpret_cast<void*>(next);
  next += (bytes + 511) / 512 * 512;
  return cudaSuccess;
}
cudaError_t __wrap_cudaFree(void*) { return cudaSuccess; }
cudaError_t __wrap_cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t __wrap_cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  *attributes = {};
  return cudaSuccess;
}
cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  *attributes = {};
  attributes->maxDynamicSharedSizeBytes = shared_limit(kernel);
  if (attributes_visitor) attributes_visitor();
  return cudaSuccess;
}
cudaError_t __wrap_cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) shared_limit(kernel) = value;
  return cudaSuccess;
}
cudaError_t __wrap_cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t __wrap_cudaPeekAtLastError() { return cudaSuccess; }
}
