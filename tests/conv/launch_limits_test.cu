// Limits of launches: what a simulated GPU refuses, the shared memory that operators of one kernel need, and what a
// refusal of pooling names.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/device/gpu_queries.h"
#include "tests/conv/conv_fixture.h"
#include "tests/conv/launches_fixture.h"
#include "tests/support/gpus.h"
#include "tests/support/simulated_gpu.h"

namespace lenslet {
namespace {

// What the simulated GPUs refuse, so that the tests of conv_launches_test.cu can fail.
TEST(SimulatedGpus, RefuseWhatTheyLack) {
  const auto kernel_named = [](const char* part) {
    const auto& kernels = simulated_gpu::kernels();
    return std::find_if(kernels.begin(), kernels.end(),
                        [&](const simulated_gpu::Kernel& kernel) {
                          return kernel.name.find(part) != std::string::npos;
                        })
        ->address;
  };
  const auto launch = [&](const char* part, dim3 grid, dim3 block, size_t shared_bytes) {
    const cudaError_t error =
        cudaLaunchKernel(kernel_named(part), grid, block, nullptr, shared_bytes, nullptr);
    EXPECT_EQ(error, cudaGetLastError());
    return error;
  };
  simulated_gpu::on_launch(nullptr);
  simulated_gpu::insert(published_gpus());
  const struct {
    GpuOrdinal gpu;
    const char* kernel;
    cudaError_t error;
  } kLacks[] = {{kT4, "conv_direct_any_kernel", cudaSuccess},
                {kT4, "conv_implicit_gemm_rows_kernel", cudaErrorNoKernelImageForDevice},
                {kA100, "conv_implicit_gemm_rows_kernel", cudaSuccess},
                {kL4, "conv_tensor_core_wgmma_kernel", cudaErrorNoKernelImageForDevice},
                {kH100, "conv_tensor_core_wgmma_kernel", cudaSuccess},
                {kB200, "conv_tensor_core_wgmma_kernel", cudaErrorNoKernelImageForDevice},
                {kB200, "conv_tensor_core_mma_kernel", cudaSuccess}};
  for (const auto& row : kLacks) {
    LENSLET_CUDA_CHECK(cudaSetDevice(row.gpu));
    EXPECT_EQ(launch(row.kernel, 1, 32, 0), row.error) << row.gpu << " " << row.kernel;
  }
  LENSLET_CUDA_CHECK(cudaSetDevice(kL4));
  const char* const any = "conv_direct_any_kernel";
  EXPECT_EQ(launch(any, 1, 1024, 48 * 1024), cudaSuccess);
  EXPECT_EQ(launch(any, 1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(any, dim3(INT32_MAX, 65535, 65535), dim3(1, 1, 64), 0), cudaSuccess);
  EXPECT_EQ(launch(any, dim3(1, 65536), 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(any, dim3(1, 1, 65536), 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(any, 0, 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(any, 1, dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(any, 1, 32, 48 * 1024 + 1), cudaErrorInvalidValue) << "not opted in";
  const void* const kernel = kernel_named(any);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 * 1024),
            cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 * 1024 + 1),
            cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

// Operators that share a kernel need different amounts of shared memory: none takes it from another.
TEST(ConvLaunches, KeepTheirSharedMemoryBesideOthers) {
  simulated_gpu::insert({132, 90, 227 * 1024});
  simulated_gpu::on_launch(nullptr);
  Stream stream(Device::cuda());
  for (const std::string& name : backend_names()) {
    const ConvBackendEntry& entry = find_conv_backend(DeviceKind::kCuda, name);
    if (entry.kind() != ConvBackendEntry::Kind::kBuiltIn) continue;  // has no kernel of ours
    const ConvBackend& backend = entry.open();
    std::vector<std::pair<std::string, std::unique_ptr<ConvKernel>>> kernels;
    for (const Conv2dProblem& problem : problems_of(name, "deep3x3")) {
      for (const MathMode math : kMathModes) {
        if (!backend.supports(problem, math)) continue;
        kernels.emplace_back(problem.to_string(),
                             prepare(backend, problem, math, SIZE_MAX, std::nullopt, stream));
      }
    }
    for (const auto& [problem, kernel] : kernels) {
      SCOPED_TRACE(concat(name, " ", problem));
      EXPECT_NO_THROW(run(*kernel, stream));
    }
  }
}

// A refusal of pooling states what was found, of each condition.
TEST(ConvLaunches, TensorCoreRefusesPoolingWithWhatItFound) {
  const ConvBackend& backend = find_conv_backend(DeviceKind::kCuda, "tensor_core").open();
  const auto reason = [&](const char* text, TensorLayout layout = TensorLayout::kNchw) {
    Conv2dProblem problem = Conv2dProblem::parse(text);
    problem.layout = layout;
    return backend.fuses_max_pool(problem, MathMode::kTf32, Pool2dWindow::square(2, 2)).reason();
  };
  const std::string only = "tensor_core fuses max pooling only ",
                    leave = ": leave the pooling a layer of its own";
  EXPECT_EQ(reason("mb1ic1ih28oc6oh24kh5"), "");
  EXPECT_EQ(reason("mb1ic1ih28oc6oh24kh5", TensorLayout::kNhwc), only + "in NCHW, found NHWC" + leave);
  EXPECT_EQ(reason("mb1ic16ih14oc16oh14kh1"),
            only +
                "of filters with 3 or 5 rows in one group, with stride and dilation 1, found 1x1 at stride "
                "1x1, padding 0x0, dilation 1x1 in 1 group" +
                leave);
  EXPECT_EQ(
      reason("mb1ic4ih14oc20oh12kh3"),
      only +
          "for at most 16 filters of at most 32 values (channels x columns) a row, found 20 filters of 12" +
          leave);
  EXPECT_EQ(
      reason("mb1ic1ih200oc6oh196kh5"),
      only + "if two images and the outputs of one fit 49152 bytes of shared memory, found 320000" + leave);
}

__global__ void shared_by_two_operators_kernel() {}

// While one thread raises a kernel's limit, another asks for more: the higher limit stays.
TEST(ConvLaunches, KeepTheirSharedMemoryBesideOtherThreads) {
  constexpr size_t kLess = 64 * 1024, kMore = 128 * 1024;
  simulated_gpu::insert({132, 90, 227 * 1024});
  simulated_gpu::on_launch(nullptr);
  const auto* const kernel = reinterpret_cast<const void*>(shared_by_two_operators_kernel);
  std::future<void> other;
  std::atomic<bool> first{true};
  simulated_gpu::on_attributes([&] {
    if (!first.exchange(false)) return;
    other = std::async(std::launch::async, [&] { allow_shared_bytes(kernel, kMore); });
    other.wait_for(std::chrono::milliseconds(200));  // it must wait for this thread
  });
  allow_shared_bytes(kernel, kLess);
  other.get();
  simulated_gpu::on_attributes(nullptr);
  cudaFuncAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, static_cast<int>(kMore));
}

}  // namespace
}  // namespace lenslet
