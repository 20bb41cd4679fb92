// Matrix products from a library: cuBLAS on the GPU, oneDNN on the CPU, each a module opened on first use. Without
// oneDNN this project's blocked loop computes them on the CPU.
//
// C[i] = alpha * op(A[i]) * op(B[i]) + beta * C[i], i < batch, all row-major fp32.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "framework/base/error.h"
#include "framework/graph/backend_table.h"
#include "framework/graph/layer.h"

namespace lenslet {

/// C = alpha * op(A) * op(B) + beta * C, row-major.
struct GemmProblem {
  int m = 0, n = 0, k = 0;                           // op(A) is m x k, op(B) is k x n, C is m x n
  bool transpose_a = false;                          // A is stored k x m
  bool transpose_b = false;                          // B is stored n x k
  int64_t lda = 0, ldb = 0, ldc = 0;                 // elements from one stored row to the next
  int batch = 1;                                     // matrices of each operand
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // elements from one matrix to the next; 0 repeats A or B
  float alpha = 1.0f, beta = 0.0f;                   // beta 0: C is not read
};

/// The operands of one product. For a Gemm of prepare_half() the elements of A and B are fp16.
struct GemmArgs {
  const float* a = nullptr;  // op(A)
  const float* b = nullptr;  // op(B)
  float* c = nullptr;        // C
};

/// One library prepared for one stream. Not thread safe.
class Gemm {
 public:
  virtual ~Gemm() = default;
  /// Bytes of workspace that run() needs for any problem.
  virtual size_t workspace_bytes() const { return 0; }
  /// Enqueues on context.stream, using the first workspace_bytes() of `workspace`. Throws UsageError if a size is
  /// negative, a row is longer than the distance to the next one, or cuBLAS cannot count that distance: the caller's
  /// supports() keeps its sizes within INT_MAX.
  void run(const GemmProblem& problem, const GemmArgs& args, void* workspace, RunContext& context);
  /// Library, version and, if known, the kernel family: "oneDNN 2.6.3 (AVX-512)".
  virtual std::string describe() const = 0;

 private:
  virtual void multiply(const GemmProblem& problem, const GemmArgs& args, void* workspace,
                        RunContext& context) = 0;  // the problem is checked
};

/// A source of Gemm objects: a library, or a loop of this project.
class GemmBackend {
 public:
  virtual ~GemmBackend() = default;
  /// Yes, or no with the reason.
  virtual Support supports(MathMode math) const = 0;
  /// Opens its library on the first call. Throws UnavailableError with the reason of supports() or of the library.
  std::unique_ptr<Gemm> prepare(MathMode math, Stream& stream) const {
    const Support support = supports(math);
    if (!support) throw UnavailableError(support.reason());
    return make(math, stream);
  }
  /// The promise for C. kPosition: an element depends only on its row of op(A), its column of op(B) and k. A library
  /// chooses by m, n and batch, so it promises less.
  virtual Determinism determinism() const { return Determinism::kBitwise; }
  /// For fp16 operands in memory, summed and stored in fp32: the best rate of the tensor cores. Throws UnavailableError
  /// if the backend does not support it.
  virtual std::unique_ptr<Gemm> prepare_half(Stream& /*stream*/) const {
    throw UnavailableError("this backend of matrix products supports fp32 operands, not fp16: use cublas");
  }

 private:
  virtual std::unique_ptr<Gemm> make(MathMode math, Stream& stream) const = 0;  // supports(math)
};

/// The rows of layers/gemm/CMakeLists.txt.
const BackendTable<GemmBackend>& gemm_table();
/// The first entry that opens. If entries before it do not, describe() of its products names them with the reasons.
/// Throws UnavailableError with the reasons if none opens.
std::unique_ptr<const GemmBackend> first_gemm_backend(
    const std::vector<BackendTable<GemmBackend>::Entry>& entries);
/// What layers use on that kind of device: the first entry of gemm_table() that opens. Throws UnavailableError.
const GemmBackend& gemm_backend(DeviceKind device);

namespace gemm_backends {
using Interface = GemmBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
