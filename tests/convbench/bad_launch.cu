#include "tests/convbench/bad_launch.h"

namespace lenslet {
namespace {

__global__ void never_kernel() {}

}  // namespace

void launch_too_many_threads(Stream& stream) {
  never_kernel<<<1, dim3(64, 64), 0, static_cast<cudaStream_t>(stream.native_handle())>>>();
}

}  // namespace lenslet
