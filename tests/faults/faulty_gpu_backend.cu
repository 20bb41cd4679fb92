// A stand-in for cuDNN's module: a convolution backend for the GPU with a fault. LENSLET_TEST_GPU_FAULT is the fault
// (wild, trap, shared, hang, capture), LENSLET_TEST_RUNS_BEFORE_FAULT the number of runs before it, which write zeros
// (none before "shared"). Only convolutions of six channels, LeNet-5's conv2, fail; with LENSLET_TEST_FAULT_ANYWHERE=1
// all do. With LENSLET_TEST_FAULT_DEVICE=N only those on cuda:N. "capture" waits for its stream, which only a capture
// forbids.
#include <cstdlib>
#include <cstring>
#include <string>

#include "framework/device/cuda_check.h"
#include "framework/device/native_stream.h"
#include "tests/support/faulty_module.h"

namespace lenslet {
namespace {

enum class Fault { kNone, kWild, kTrap, kShared, kHang, kCapture };

constexpr int kThreads = 256;
constexpr size_t kNoBlockHasThat = size_t{1} << 30;  // bytes of shared memory
// Long for a test, but the GPU is free again afterwards.
constexpr unsigned long long kHangNs = 30'000'000'000ull;

// Counts runs of the kernel on this device, not calls of the host: a replayed graph runs without one.
__device__ int runs_so_far = 0;

// computes: zeros, then after `runs_before` runs the fault · work split: one thread an element · memory: none shared ·
// requires: nothing · measured: never
__global__ void faulty_kernel(float* y, int64_t count, Fault fault, int runs_before) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) y[i] = 0;
  if (i != 0 || fault == Fault::kNone || atomicAdd(&runs_so_far, 1) < runs_before) return;
  if (fault == Fault::kWild) *reinterpret_cast<volatile float*>(uintptr_t{0x1000}) = 1;
  if (fault == Fault::kTrap) __trap();
  if (fault == Fault::kHang) {
    unsigned long long began = 0, now = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
    do {
      asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - began < kHangNs);
  }
}

Fault planted_fault() {
  const char* const text = std::getenv("LENSLET_TEST_GPU_FAULT");
  const std::string word = text == nullptr ? "" : text;
  return word == "wild"      ? Fault::kWild
         : word == "trap"    ? Fault::kTrap
         : word == "shared"  ? Fault::kShared
         : word == "hang"    ? Fault::kHang
         : word == "capture" ? Fault::kCapture
                             : Fault::kNone;
}

class FaultyKernel : public ConvKernel {
 public:
  FaultyKernel(int64_t outputs, bool struck) : outputs_(outputs), struck_(struck) {}
  void convolve(const ConvArgs& args, RunContext& context) override {
    const char* const only = std::getenv("LENSLET_TEST_FAULT_DEVICE");
    const bool here = only == nullptr || std::atoi(only) == context.stream.device().ordinal;
    const Fault fault = struck_ && here ? planted_fault() : Fault::kNone;
    const auto blocks = static_cast<unsigned>((outputs_ + kThreads - 1) / kThreads);
    const cudaStream_t stream = native(context.stream);
    faulty_kernel<<<blocks, kThreads, fault == Fault::kShared ? kNoBlockHasThat : 0, stream>>>(
        args.y, outputs_, fault, runs_before_fault());
    LENSLET_CUDA_CHECK_LAUNCH("faulty_kernel");
    if (fault == Fault::kCapture) LENSLET_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

 private:
  int64_t outputs_;
  bool struck_;
};

class StruckBackend : public FaultyBackend {
 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const char* const anywhere = std::getenv("LENSLET_TEST_FAULT_ANYWHERE");
    const bool struck = request.problem.c == 6 || (anywhere != nullptr && std::strcmp(anywhere, "1") == 0);
    return std::make_unique<FaultyKernel>(request.problem.output_shape().num_elements(), struck);
  }
};

}  // namespace
}  // namespace lenslet

LENSLET_MODULE_EXPORT const lenslet::ConvBackend* lenslet_conv_backend() {
  static const lenslet::StruckBackend backend;
  return &backend;
}
