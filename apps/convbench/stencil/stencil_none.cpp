// Stubs for a build without CUDA; the command refuses before it calls them.
#include "apps/convbench/stencil/stencil_kernels.h"
#include "framework/error.h"

namespace lenslet {
namespace {

StencilKernel none() {
  StencilKernel kernel;
  kernel.refusal = cuda_status().reason;
  return kernel;
}

}  // namespace

StencilKernel stencil_global_kernel(const Stencil&, Boundary) { return none(); }
StencilKernel stencil_constant_kernel(const Stencil&, Boundary) { return none(); }
StencilKernel stencil_tiled_kernel(const Stencil&, Boundary) { return none(); }
StencilKernel stencil_vector_kernel(const Stencil&, Boundary) { return none(); }

LaunchResources stencil_launch_resources(const StencilKernel& kernel) {
  throw UnavailableError(kernel.refusal);
}
void stencil_enqueue(const StencilKernel& kernel, const Stencil&, const float*, const float*, float*,
                     Stream&) {
  throw UnavailableError(kernel.refusal);
}

}  // namespace lenslet
