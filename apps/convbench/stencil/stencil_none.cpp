// Stand-ins for the kernels of the stencil study in a build without CUDA.
#include "apps/convbench/stencil/stencil_kernels.h"

namespace lenslet {

StencilKernel stencil_global_kernel(const Stencil&, Boundary) { return {}; }
StencilKernel stencil_constant_kernel(const Stencil&, Boundary) { return {}; }
StencilKernel stencil_tiled_kernel(const Stencil&, Boundary) { return {}; }
StencilKernel stencil_vector_kernel(const Stencil&, Boundary) { return {}; }

}  // namespace lenslet
