// Products on the simulated GPU (simulated_gpu.h): they compute nothing, because cuBLAS needs a GPU.
#include <memory>
#include <string>

#include "layers/gemm/gemm_backend.h"
#include "layers/gemm/gpu/cublas_workspace.h"

namespace lenslet {
namespace {

struct NoGemm : Gemm {
  size_t workspace_bytes() const override { return kCublasWorkspaceBytes; }
  void multiply(const GemmProblem&, const GemmArgs&, void*, RunContext&) override {}
  std::string describe() const override { return "none"; }
};
struct NoGemmBackend : GemmBackend {
  Support supports(MathMode) const override { return Support::yes(); }

 private:
  std::unique_ptr<Gemm> make(MathMode, Stream&) const override { return std::make_unique<NoGemm>(); }
};

}  // namespace
}  // namespace lenslet

// The linker redirects calls of lenslet::gemm_backend(DeviceKind) to this function.
const lenslet::GemmBackend& simulated_gemm_backend(lenslet::DeviceKind) __asm__(
    "__wrap__ZN7lenslet12gemm_backendENS_10DeviceKindE");
const lenslet::GemmBackend& simulated_gemm_backend(lenslet::DeviceKind) {
  static const lenslet::NoGemmBackend backend;
  return backend;
}
