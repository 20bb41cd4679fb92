// Stubs for a build without CUDA; the command refuses before it calls them.
#include "apps/convbench/gemm_study/matrix_kernels.h"
#include "framework/error.h"

namespace lenslet {

MatrixKernel matrix_element(int) { return {"matrix_element_kernel", nullptr}; }
MatrixKernel matrix_shared(int) { return {"matrix_shared_kernel", nullptr}; }
MatrixKernel matrix_register(int) { return {"matrix_register_kernel", nullptr}; }
MatrixKernel matrix_row(int) { return {"matrix_row_kernel", nullptr}; }
MatrixKernel matrix_column(int) { return {"matrix_column_kernel", nullptr}; }

Support matrix_support(const MatrixKernel&, Device) { return Support::no(cuda_status().reason); }
LaunchResources matrix_launch_resources(const MatrixKernel&) { throw UnavailableError(cuda_status().reason); }
void matrix_enqueue(const MatrixKernel&, const MatrixArgs&, Stream&) {
  throw UnavailableError(cuda_status().reason);
}

}  // namespace lenslet
