// Which of the study's kernels a card can launch, and the launch.
#include "apps/convbench/gemm_study/matrix_kernels.h"
#include "framework/cuda_check.h"
#include "framework/error.h"
#include "framework/integer_math.h"
#include "framework/launch_check.h"
#include "framework/launch_resources.cuh"

namespace lenslet {
namespace {

int attribute(cudaDeviceAttr which, Device device) {
  int value = 0;
  LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device.ordinal));
  return value;
}

const void* address(const MatrixKernel& kernel) { return reinterpret_cast<const void*>(kernel.function); }

unsigned blocks(int outputs, int of_a_block) {
  return of_a_block == 0 ? 1 : static_cast<unsigned>(ceil_div(outputs, of_a_block));
}

}  // namespace

Support matrix_support(const MatrixKernel& kernel, Device device) {
  const int threads = kernel.block_threads();
  const int most = attribute(cudaDevAttrMaxThreadsPerBlock, device);
  if (threads > most) {
    const bool square = kernel.threads_x > 1 && kernel.threads_y > 1;
    return Support::no(
        concat(square ? concat(kernel.threads_x, " x ", kernel.threads_y, " = ") : std::string(), threads,
               " threads a block, and this card launches up to ", most));
  }
  if (!kernel.function) {
    return Support::no(concat(kernel.name, " has tiles of 8, 16 and 32, found ", kernel.threads_x));
  }
  cudaFuncAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaFuncGetAttributes(&attributes, address(kernel)));
  if (threads > attributes.maxThreadsPerBlock) {
    return Support::no(concat(threads, " threads a block of ", attributes.numRegs,
                              " registers each, and this card launches up to ", attributes.maxThreadsPerBlock,
                              " of them"));
  }
  return Support::yes();
}

LaunchResources matrix_launch_resources(const MatrixKernel& kernel) {
  return launch_resources(kernel.name, address(kernel), kernel.block_threads(), 0);
}

void matrix_enqueue(const MatrixKernel& kernel, const MatrixArgs& args, Stream& stream) {
  const dim3 threads(static_cast<unsigned>(kernel.threads_x), static_cast<unsigned>(kernel.threads_y));
  const dim3 grid(blocks(args.shape.columns, kernel.columns), blocks(args.shape.rows, kernel.rows));
  kernel.function<<<grid, threads, 0, static_cast<cudaStream_t>(stream.native_handle())>>>(args.shape, args.a,
                                                                                           args.b, args.c);
  LENSLET_CUDA_CHECK_LAUNCH_OF(kernel.name);
}

}  // namespace lenslet
