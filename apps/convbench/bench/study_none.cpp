// Stand-ins for the studies' kernels in a build without CUDA. The commands refuse before they call one.
#include "apps/convbench/gemm_study/matrix_kernels.h"
#include "apps/convbench/stencil/stencil_kernels.h"

namespace lenslet {

Support study_support(const StudyLaunch&, const void*, Device) { return Support::no(cuda_status().reason); }
LaunchResources study_launch_resources(const StudyLaunch&, const void*) {
  throw UnavailableError(cuda_status().reason);
}
void study_enqueue(const StudyLaunch&, const void*, void**, Stream&) {
  throw UnavailableError(cuda_status().reason);
}

MatrixKernel matrix_element(int) { return {}; }
MatrixKernel matrix_shared(int) { return {}; }
MatrixKernel matrix_register(int) { return {}; }
MatrixKernel matrix_row(int) { return {}; }
MatrixKernel matrix_column(int) { return {}; }
StencilKernel stencil_global_kernel(const Stencil&, Boundary) { return {}; }
StencilKernel stencil_constant_kernel(const Stencil&, Boundary) { return {}; }
StencilKernel stencil_tiled_kernel(const Stencil&, Boundary) { return {}; }
StencilKernel stencil_vector_kernel(const Stencil&, Boundary) { return {}; }

}  // namespace lenslet
