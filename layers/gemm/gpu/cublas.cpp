// Matrix products by cuBLAS, as a module:
//   C[i] = alpha * op(A[i]) * op(B[i]) + beta * C[i]
// all row-major fp32; from prepare_half() A and B are fp16.
//
// cuBLAS is column-major, and a row-major matrix read column-major is its transpose. So C^T = op(B)^T * op(A)^T is
// computed with the operands swapped, and nothing is copied. The caller's workspace is given to cuBLAS before each
// product: with cuBLAS's own pool a captured graph would allocate, and results could differ from run to run. The module
// takes pointers and a stream and makes no CUDA runtime call.
#include <cublas_v2.h>
#include <dlfcn.h>

#include <climits>

#include "framework/base/error.h"
#include "framework/device/native_stream.h"
#include "framework/device/shared_per_stream.h"
#include "framework/graph/module.h"
#include "layers/gemm/gemm_backend.h"
#include "layers/gemm/gpu/cublas_workspace.h"

LENSLET_DEFINE_MODULE()

namespace lenslet {
namespace {

void check_cublas(cublasStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string message = concat(expression, " failed: ", cublasGetStatusName(status), ": ",
                                     cublasGetStatusString(status), " at ", file, ":", line);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw MemoryError(message);
  if (status == CUBLAS_STATUS_NOT_INITIALIZED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
    throw UnavailableError(message);
  }
  throw DeviceError(message);
}

#define LENSLET_CUBLAS_CHECK(expression) check_cublas((expression), #expression, __FILE__, __LINE__)

std::string library_version() {
  int part[3] = {};
  const libraryPropertyType types[3] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i) LENSLET_CUBLAS_CHECK(cublasGetProperty(types[i], &part[i]));
  return concat(part[0], ".", part[1], ".", part[2]);
}

std::string library_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&cublasCreate), &info) && info.dli_fname ? info.dli_fname
                                                                                       : "unknown";
}

/// One cuBLAS context, bound to the device that was current at its creation.
class Handle {
 public:
  Handle() { LENSLET_CUBLAS_CHECK(cublasCreate(&handle_)); }
  ~Handle() { (void)cublasDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cublasHandle_t get() const noexcept { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

// The layers refuse larger sizes in their supports(), so only a wrong caller gets here.
int leading_dimension(const char* name, int64_t value) {
  if (value > INT_MAX)
    throw UsageError(concat("gemm: cublas takes a ", name, " of up to ", INT_MAX, ", found ", value));
  return static_cast<int>(value);
}

class CublasGemm : public Gemm {
 public:
  /// In fp16 the operands are fp16.
  CublasGemm(MathMode math, const Stream& stream)
      : handle_(shared_per_stream<Handle>(stream)),
        compute_(math == MathMode::kTf32   ? CUBLAS_COMPUTE_32F_FAST_TF32
                 : math == MathMode::kFp16 ? CUBLAS_COMPUTE_32F
                                           : CUBLAS_COMPUTE_32F_PEDANTIC),
        operand_(math == MathMode::kFp16 ? CUDA_R_16F : CUDA_R_32F),
        describe_(concat("cuBLAS ", library_version(),
                         math == MathMode::kTf32   ? " (TF32)"
                         : math == MathMode::kFp16 ? " (FP16)"
                                                   : " (FP32)")) {}

  size_t workspace_bytes() const override { return kCublasWorkspaceBytes; }

  std::string describe() const override { return describe_; }

 private:
  void multiply(const GemmProblem& problem, const GemmArgs& args, void* workspace,
                RunContext& context) override {
    if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
    const cublasHandle_t handle = handle_->get();
    // Setting the stream also resets the workspace to cuBLAS's own, so the order matters.
    LENSLET_CUBLAS_CHECK(cublasSetStream(handle, native(context.stream)));
    LENSLET_CUBLAS_CHECK(cublasSetWorkspace(handle, workspace, kCublasWorkspaceBytes));
    const cublasOperation_t op_a = problem.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_b = problem.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int lda = leading_dimension("lda", problem.lda), ldb = leading_dimension("ldb", problem.ldb),
              ldc = leading_dimension("ldc", problem.ldc);
    if (problem.batch == 1) {
      LENSLET_CUBLAS_CHECK(cublasGemmEx(handle, op_b, op_a, problem.n, problem.m, problem.k, &problem.alpha,
                                        args.b, operand_, ldb, args.a, operand_, lda, &problem.beta, args.c,
                                        CUDA_R_32F, ldc, compute_, CUBLAS_GEMM_DEFAULT));
    } else {
      LENSLET_CUBLAS_CHECK(cublasGemmStridedBatchedEx(
          handle, op_b, op_a, problem.n, problem.m, problem.k, &problem.alpha, args.b, operand_, ldb,
          problem.stride_b, args.a, operand_, lda, problem.stride_a, &problem.beta, args.c, CUDA_R_32F, ldc,
          problem.stride_c, problem.batch, compute_, CUBLAS_GEMM_DEFAULT));
    }
  }

  std::shared_ptr<Handle> handle_;
  cublasComputeType_t compute_;
  cudaDataType_t operand_;
  std::string describe_;
};

class CublasGemmBackend : public GemmBackend {
 public:
  Support supports(MathMode math) const override {
    if (math != MathMode::kFp32 && math != MathMode::kTf32) {
      return Support::no(concat("cublas multiplies fp32 operands here, in fp32 or tf32, not ",
                                to_string(math), ": choose one of these"));
    }
    return Support::yes();
  }
  std::unique_ptr<Gemm> prepare_half(Stream& stream) const override {
    return std::make_unique<CublasGemm>(MathMode::kFp16, stream);
  }

 private:
  std::unique_ptr<Gemm> make(MathMode math, Stream& stream) const override {
    return std::make_unique<CublasGemm>(math, stream);
  }
};

}  // namespace
}  // namespace lenslet

LENSLET_MODULE_EXPORT const lenslet::GemmBackend* lenslet_gemm_backend() {
  static const lenslet::CublasGemmBackend backend;
  return &backend;
}

LENSLET_MODULE_EXPORT int lenslet_library_info(lenslet::ModuleLibrary* libraries, int capacity) {
  static const std::string version = lenslet::library_version(), path = lenslet::library_path();
  if (capacity > 0) libraries[0] = {"cuBLAS", version.c_str(), path.c_str()};
  return 1;
}
