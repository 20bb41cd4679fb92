// Stand-ins for the kernels of the matrix study in a build without CUDA.
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {

MatrixKernel matrix_element(int) { return {}; }
MatrixKernel matrix_shared(int) { return {}; }
MatrixKernel matrix_register(int) { return {}; }
MatrixKernel matrix_row(int) { return {}; }
MatrixKernel matrix_column(int) { return {}; }

}  // namespace lenslet
