#include "tests/support/simulated_gpu.h"

#include <cuda.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "tests/support/kernel_needs.h"

namespace lenslet::simulated_gpu {
namespace {

constexpr int kWarp = 32, kRegisters = 65536;  // of a warp; of a multiprocessor of every supported GPU
constexpr int kMaxBlockThreads = 1024, kMaxDepth = 64;  // of a block in z
constexpr unsigned kMaxX = INT32_MAX, kMaxYZ = 65535;
constexpr int kPortableCluster = 8, kMaxCluster = 16;
constexpr int kReservedBytes = 1024;  // of shared memory, by the system, for each block

std::vector<Gpu> gpus;
thread_local int current = 0;  // ordinal
std::function<void(const Launch&)> visitor;

const Gpu& gpu_of(int ordinal) { return gpus.at(static_cast<size_t>(ordinal)); }
const Gpu& gpu() { return gpu_of(current); }

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
  // The part of "kernel<...>(types)" before the types.
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

using KernelOnGpu = std::pair<int, const void*>;

/// Bytes of dynamic shared memory that a launch on the current GPU may ask for; raised by cudaFuncSetAttribute.
std::map<KernelOnGpu, int> shared_limits;
int& shared_limit(const void* kernel) {
  return shared_limits.emplace(KernelOnGpu{current, kernel}, 48 * 1024).first->second;
}
// Kernels whose clusters may have more blocks than every GPU with clusters allows.
std::set<KernelOnGpu> large_clusters;

std::map<std::string, int>& bounded_registers() {
  static std::map<std::string, int> registers;
  return registers;
}

const std::string& name_of(const void* kernel) {
  const auto found = std::find_if(registered().begin(), registered().end(),
                                  [&](const Kernel& row) { return row.address == kernel; });
  static const std::string kUnknown;
  return found == registered().end() ? kUnknown : found->name;
}

int registers_of(const void* kernel) {
  const std::string& name = name_of(kernel);
  for (const auto& [part, registers] : bounded_registers()) {
    if (name.find(part) != std::string::npos) return registers;
  }
  return kRegisters / gpu().threads_per_multiprocessor;
}

/// Blocks of the kernel that are on one multiprocessor at once.
int resident_blocks(const void* kernel, int threads, size_t shared_bytes) {
  const int whole_warps = (threads + kWarp - 1) / kWarp * kWarp;
  const int by_shared =
      gpu().shared_bytes_per_multiprocessor / (static_cast<int>(shared_bytes) + kReservedBytes);
  return std::min({gpu().threads_per_multiprocessor / whole_warps, gpu().blocks_per_multiprocessor, by_shared,
                   kRegisters / (registers_of(kernel) * whole_warps)});
}

/// Multiprocessors come in pairs, and the pairs are dealt to the GPCs in turn.
int clusters_at_once(const void* kernel, int cluster_blocks, int threads, size_t shared_bytes) {
  const int resident = resident_blocks(kernel, threads, shared_bytes), pairs = gpu().multiprocessors / 2;
  int clusters = 0;
  for (int gpc = 0; gpc < gpu().gpu_clusters; ++gpc) {
    const int here = pairs / gpu().gpu_clusters + (gpc < pairs % gpu().gpu_clusters ? 1 : 0);
    clusters += 2 * here * resident / cluster_blocks;
  }
  return clusters;
}

bool allows_cluster(const void* kernel, int blocks) {
  return blocks <= (large_clusters.count({current, kernel}) != 0 ? kMaxCluster : kPortableCluster);
}

cudaError_t last_error = cudaSuccess;
std::function<void()> attributes_visitor;
std::function<bool()> query_visitor;

/// What the GPU refuses.
cudaError_t error_of(const Launch& launch) {
  const dim3 &grid = launch.grid, &block = launch.block;
  if (!gpu_has_kernel(name_of(launch.kernel), gpu().compute_capability))
    return cudaErrorNoKernelImageForDevice;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxBlockThreads || block.z > kMaxDepth) return cudaErrorInvalidConfiguration;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return cudaErrorInvalidConfiguration;
  if (grid.x > kMaxX || grid.y > kMaxYZ || grid.z > kMaxYZ) return cudaErrorInvalidConfiguration;
  if (launch.shared_bytes > static_cast<size_t>(shared_limit(launch.kernel))) return cudaErrorInvalidValue;
  if (!allows_cluster(launch.kernel, launch.cluster_blocks)) return cudaErrorInvalidClusterSize;
  if (grid.x % static_cast<unsigned>(launch.cluster_blocks) != 0) return cudaErrorInvalidConfiguration;
  return cudaSuccess;
}

cudaError_t launch(const Launch& launched) {
  if (const cudaError_t error = error_of(launched); error != cudaSuccess) return last_error = error;
  if (visitor) visitor(launched);
  return cudaSuccess;
}

int cluster_blocks_of(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension)
      return static_cast<int>(config.attrs[i].val.clusterDim.x);
  }
  return 1;
}

cudaError_t get_properties(cudaDeviceProp* properties, int ordinal) {
  const Gpu& one = gpu_of(ordinal);
  *properties = {};
  std::strncpy(properties->name, one.name, sizeof properties->name - 1);
  properties->major = one.compute_capability / 10;
  properties->minor = one.compute_capability % 10;
  properties->multiProcessorCount = one.multiprocessors;
  properties->totalGlobalMem = static_cast<size_t>(one.memory_gib) << 30;
  properties->l2CacheSize = one.l2_mib << 20;
  properties->sharedMemPerBlockOptin = static_cast<size_t>(one.shared_bytes_per_block);
  return cudaSuccess;
}

#if CUDART_VERSION >= 12000  // the first with tensor maps
/// Refuses what the driver refuses of a tensor [N, H, W, C]: CUDA Driver API, "cuTensorMapEncodeIm2col".
CUresult encode_im2col(CUtensorMap*, CUtensorMapDataType, cuuint32_t rank, void* address,
                       const cuuint64_t* sizes, const cuuint64_t* pitches, const int* first, const int* last,
                       cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* strides,
                       CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                       CUtensorMapFloatOOBfill) {
  bool legal =
      rank == 4 && reinterpret_cast<uintptr_t>(address) % 16 == 0 && channels <= 256 && pixels <= 1024;
  for (int i = 0; i < 3; ++i) legal = legal && pitches[i] % 16 == 0 && pitches[i] < uint64_t{1} << 40;
  for (int i = 0; i < 4; ++i) legal = legal && sizes[i] > 0 && strides[i] >= 1 && strides[i] <= 8;
  for (int i = 0; i < 2; ++i) {
    legal = legal && first[i] >= -128 && first[i] <= 127 && last[i] >= -128 && last[i] <= 127 &&
            static_cast<int64_t>(sizes[i + 1]) + last[i] > first[i];
  }
  return legal ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
/// Refuses what the driver refuses of a tensor of rows and columns whose boxes are swizzled by 128 bytes: CUDA Driver
/// API, "cuTensorMapEncodeTiled".
CUresult encode_tiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t rank, void* address,
                      const cuuint64_t* sizes, const cuuint64_t* pitches, const cuuint32_t* box,
                      const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle,
                      CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  bool legal = rank == 2 && reinterpret_cast<uintptr_t>(address) % 16 == 0 && pitches[0] % 16 == 0 &&
               pitches[0] < uint64_t{1} << 40;
  for (int i = 0; i < 2; ++i) legal = legal && sizes[i] > 0 && box[i] >= 1 && box[i] <= 256 && steps[i] == 1;
  return legal ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
#endif

}  // namespace

void insert(const std::vector<Gpu>& inserted) {
  gpus = inserted;
  current = 0;
  shared_limits.clear();
  large_clusters.clear();
}
void insert(const Gpu& inserted) { insert(std::vector<Gpu>{inserted}); }
void set_registers(const std::string& part, int registers) { bounded_registers()[part] = registers; }
void on_launch(std::function<void(const Launch&)> visit) { visitor = std::move(visit); }
void on_attributes(std::function<void()> visit) { attributes_visitor = std::move(visit); }
void on_query(std::function<bool()> is_done) { query_visitor = std::move(is_done); }
const std::vector<Kernel>& kernels() { return registered(); }

}  // namespace lenslet::simulated_gpu

// The linker redirects the program's calls of a function to this one; __real_… calls the runtime.
using namespace lenslet::simulated_gpu;
extern "C" {
// The linker makes these names, and nothing is stored at the addresses.
// NOLINTBEGIN(bugprone-reserved-identifier, performance-no-int-to-ptr)

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
  return launch({kernel, grid, block, arguments, shared_bytes});
}
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes, cudaStream_t) {
  return launch({kernel, grid, block, arguments, shared_bytes});
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
  return launch({kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                 cluster_blocks_of(*config)});
}

cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(gpus.size());
  return cudaSuccess;
}
// The same function by the names of toolkit 13 and of those before.
cudaError_t __wrap_cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  return get_properties(properties, ordinal);
}
cudaError_t __wrap_cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int ordinal) {
  return get_properties(properties, ordinal);
}
cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t __wrap_cudaSetDevice(int device) {
  current = device;
  return cudaSuccess;
}
cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const Gpu& one = gpu_of(device);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = one.multiprocessors;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = one.compute_capability / 10;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = one.compute_capability % 10;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = one.shared_bytes_per_block;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = one.shared_bytes_per_multiprocessor;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = one.threads_per_multiprocessor;
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
// Page-locked memory has contents. It stays until the program ends: what emulates a kernel may still read it.
cudaError_t __wrap_cudaMallocHost(void** data, size_t bytes) {
  static std::vector<std::unique_ptr<uint64_t[]>> blocks;
  *data = blocks.emplace_back(new uint64_t[(bytes + 7) / 8]()).get();
  return cudaSuccess;
}
cudaError_t __wrap_cudaFreeHost(void*) { return cudaSuccess; }
cudaError_t __wrap_cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = *total_bytes = static_cast<size_t>(gpu().memory_gib) << 30;
  return cudaSuccess;
}
cudaError_t __wrap_cudaMemsetAsync(void*, int, size_t, cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(&current);  // an address: null is the default stream
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaStreamQuery(cudaStream_t) {
  return query_visitor && !query_visitor() ? cudaErrorNotReady : cudaSuccess;
}
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
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value > gpu().shared_bytes_per_block) return last_error = cudaErrorInvalidValue;
    shared_limit(kernel) = value;
  }
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed && value != 0)
    large_clusters.insert({current, kernel});
  return cudaSuccess;
}
cudaError_t __wrap_cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel,
                                                  const cudaLaunchConfig_t* config) {
  const int blocks = cluster_blocks_of(*config);
  if (!allows_cluster(kernel, blocks)) return last_error = cudaErrorInvalidClusterSize;
  *clusters =
      clusters_at_once(kernel, blocks, static_cast<int>(config->blockDim.x), config->dynamicSmemBytes);
  return cudaSuccess;
}
cudaError_t __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                          int threads, size_t shared_bytes,
                                                                          unsigned) {
  *blocks = resident_blocks(kernel, threads, shared_bytes);
  return cudaSuccess;
}
cudaError_t __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                                 size_t shared_bytes) {
  *blocks = resident_blocks(kernel, threads, shared_bytes);
  return cudaSuccess;
}
#if CUDART_VERSION >= 12000
cudaError_t find_driver_function(const char* symbol, void** function,
                                 cudaDriverEntryPointQueryResult* status) {
  *function = std::strcmp(symbol, "cuTensorMapEncodeIm2col") == 0  ? reinterpret_cast<void*>(&encode_im2col)
              : std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0 ? reinterpret_cast<void*>(&encode_tiled)
                                                                   : nullptr;
  *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
// Up to 12.4 the first of the two; see framework/device/tensor_map.cuh.
cudaError_t __wrap_cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                           cudaDriverEntryPointQueryResult* status) {
  return find_driver_function(symbol, function, status);
}
cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                    unsigned long long,
                                                    cudaDriverEntryPointQueryResult* status) {
  return find_driver_function(symbol, function, status);
}
#endif
cudaError_t __wrap_cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t __wrap_cudaPeekAtLastError() { return cudaSuccess; }
// NOLINTEND(bugprone-reserved-identifier, performance-no-int-to-ptr)
}
