// The functions of framework/device/runtime.h that need a kernel.
#include "framework/device/device_health.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/device/runtime.h"

// Outside the namespace lenslet: racecheck and synccheck check only kernels of that namespace (tests/sanitize), and
// would take minutes for this kernel, which runs before every judged run.
namespace {

constexpr int kFillThreads = 1024;

// computes    nothing; fills the shared memory of the multiprocessors that its blocks run on with `word`
// work split  a block fills all shared memory that it may have, so that one block fits on a multiprocessor at a time
// memory      `words` words of dynamic shared memory
// requires    the kernel's limit raised to that (fill_shared_async)
// measured    not measured: it precedes verified runs, never timed ones
__global__ void __launch_bounds__(kFillThreads) fill_shared_kernel(unsigned word, int words) {
  extern __shared__ unsigned shared_words[];
  volatile unsigned* const kept = shared_words;  // volatile, because no thread reads the stores
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kFillThreads) kept[i] = word;
}

}  // namespace

namespace lenslet {
namespace {

constexpr int kUnpackThreads = 256;
constexpr int64_t kUnpackBytes = 8;  // that a thread reads

// The greys of the pixels of four bytes: those of the low halves, and those of the high halves. A code c becomes
// 17 c = c | c << 4, in each byte by itself.
__device__ uint2 greys_of(unsigned pairs) {
  const unsigned low = pairs & 0x0f0f0f0fu, high = pairs >> 4 & 0x0f0f0f0fu;
  return {low | low << 4, high | high << 4};
}
// Bytes of both in turn: the first two of each, or the last two.
__device__ unsigned first_four(uint2 greys) { return __byte_perm(greys.x, greys.y, 0x5140); }
__device__ unsigned last_four(uint2 greys) { return __byte_perm(greys.x, greys.y, 0x7362); }

// computes    pixels[2 i], pixels[2 i + 1] = 17 * low half, 17 * high half of pairs[i]
// work split  a thread takes 8 bytes, 16 pixels
// memory      reads and writes each byte once, coalesced
// requires    `pairs` aligned to 8 bytes (Executable::run checks), `pixels` to 16 (its caller passes the start of a
//             workspace)
// measured    not measured: 1,176 bytes an image in device memory, beside 392 over the bus
__global__ void __launch_bounds__(kUnpackThreads) unpack_pixels_kernel(const uint2* pairs,  // [count]
                                                                       int64_t count,
                                                                       uint4* pixels) {  // [2 * count]
  const int64_t i = int64_t{blockIdx.x} * kUnpackThreads + threadIdx.x;
  if (i >= count) return;
  const uint2 packed = pairs[i];
  const uint2 a = greys_of(packed.x), b = greys_of(packed.y);
  pixels[i] = {first_four(a), last_four(a), first_four(b), last_four(b)};
}

}  // namespace
}  // namespace lenslet

namespace lenslet::runtime {

void unpack_pixels_async(const void* pairs, int64_t pair_bytes, void* pixels, void* stream) {
  throw_if_device_lost();
  const int64_t count = pair_bytes / kUnpackBytes;
  if (count == 0) return;
  launch("unpack_pixels_kernel", unpack_pixels_kernel, grid_blocks(count, kUnpackThreads), kUnpackThreads, 0,
         static_cast<cudaStream_t>(stream), static_cast<const uint2*>(pairs), count,
         static_cast<uint4*>(pixels));
}

void fill_shared_async(int byte, void* stream) {
  throw_if_device_lost();
  int device = 0, bytes = 0;
  LENSLET_CUDA_CHECK(cudaGetDevice(&device));
  LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  LENSLET_CUDA_CHECK(
      cudaFuncSetAttribute(fill_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  // Two rounds, so that every multiprocessor gets a block, even if another one finishes first.
  constexpr unsigned kRounds = 2;
  const auto blocks = kRounds * static_cast<unsigned>(multiprocessor_count({DeviceKind::kCuda, device}));
  const unsigned word = 0x01010101u * static_cast<unsigned>(byte & 0xff);
  launch("fill_shared_kernel", fill_shared_kernel, blocks, kFillThreads, static_cast<size_t>(bytes),
         static_cast<cudaStream_t>(stream), word, bytes / static_cast<int>(sizeof(unsigned)));
}

}  // namespace lenslet::runtime
