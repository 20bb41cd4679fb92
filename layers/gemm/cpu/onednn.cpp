// Matrix products by oneDNN's dnnl_sgemm (row-major since version 1.0), one OpenMP thread a call: the
// program's pool splits the batch, or the rows or columns of C, whichever is longer.
//
// A [M, K] or [K, M], B [K, N] or [N, K], C [M, N], fp32.
#include <dnnl.h>

#include <algorithm>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/graph/module.h"
#include "layers/fp32_only.h"
#include "layers/gemm/cpu/onednn_library.h"
#include "layers/gemm/cpu/onednn_threads.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

// Parts of C are multiples of this, so that splitting adds no partial tiles.
constexpr int64_t kPartAlignment = 16;

void sgemm(const GemmProblem& problem, const GemmArgs& args, int64_t m, int64_t n) {
  const dnnl_status_t status =
      dnnl_sgemm(problem.transpose_a ? 'T' : 'N', problem.transpose_b ? 'T' : 'N', m, n, problem.k,
                 problem.alpha, args.a, problem.lda, args.b, problem.ldb, problem.beta, args.c, problem.ldc);
  if (status != dnnl_success) throw DeviceError(concat("dnnl_sgemm failed with oneDNN status ", int{status}));
}

/// C = beta * C, where there are no products to add. dnnl_sgemm would leave C unchanged.
void scale_c(const GemmProblem& problem, float* c) {
  for (int64_t i = 0; i < int64_t{problem.batch} * problem.m; ++i) {
    float* const row = c + i / problem.m * problem.stride_c + i % problem.m * problem.ldc;
    for (int64_t j = 0; j < problem.n; ++j) row[j] = problem.beta == 0.0f ? 0.0f : problem.beta * row[j];
  }
}

class OneDnnGemm : public Gemm {
 public:
  std::string describe() const override {
    const dnnl_version_t* version = dnnl_version();
    const char* isa = "generic";
    switch (dnnl_get_effective_cpu_isa()) {
      case dnnl_cpu_isa_sse41:
        isa = "SSE4.1";
        break;
      case dnnl_cpu_isa_avx:
        isa = "AVX";
        break;
      case dnnl_cpu_isa_avx2:
      case dnnl_cpu_isa_avx2_vnni:
        isa = "AVX2";
        break;
      case dnnl_cpu_isa_all:
        break;
      default:
        isa = "AVX-512";
        break;
    }
    return concat("oneDNN ", version->major, ".", version->minor, ".", version->patch, " (", isa, ")");
  }

 private:
  void multiply(const GemmProblem& problem, const GemmArgs& args, void* /*workspace*/,
                RunContext& /*context*/) override {
    if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
    if (problem.k == 0) return scale_c(problem, args.c);
    const double flops = 2.0 * problem.m * problem.n * problem.k * problem.batch;
    const int64_t wanted =
        std::clamp<int64_t>(static_cast<int64_t>(flops / kFlopsPerWokenThread), 1, num_threads());
    // Split the batch if it has enough matrices for all threads, else the longer side of C.
    const bool by_batch = problem.batch >= wanted;
    const bool by_row = !by_batch && problem.m >= problem.n;
    const int64_t side = by_row ? problem.m : problem.n;
    const int64_t part = by_batch ? side : round_up(ceil_div(side, wanted), kPartAlignment);
    const int64_t parts = ceil_div(side, part);
    const int64_t items = problem.batch * parts;
    parallel_for(items, ceil_div(items, wanted), [&](int64_t begin, int64_t end) {
      const OneDnnThreads one_thread(1);
      for (int64_t item = begin; item < end; ++item) {
        const int64_t matrix = item / parts, first = item % parts * part,
                      length = std::min(part, side - first);
        GemmArgs here{args.a + matrix * problem.stride_a, args.b + matrix * problem.stride_b,
                      args.c + matrix * problem.stride_c};
        if (by_row) {
          here.a += first * (problem.transpose_a ? 1 : problem.lda);
          here.c += first * problem.ldc;
          sgemm(problem, here, length, problem.n);
        } else {
          here.b += first * (problem.transpose_b ? problem.ldb : 1);
          here.c += first;
          sgemm(problem, here, problem.m, length);
        }
      }
    });
  }
};

class OneDnnGemmBackend : public GemmBackend {
 public:
  Support supports(MathMode math) const override { return fp32_only("onednn on the CPU", math); }

 private:
  std::unique_ptr<Gemm> make(MathMode /*math*/, Stream& /*stream*/) const override {
    return std::make_unique<OneDnnGemm>();
  }
};

}  // namespace
}  // namespace lenslet

LENSLET_DEFINE_MODULE()
LENSLET_MODULE_SHARES_THREADS()

LENSLET_MODULE_EXPORT const lenslet::GemmBackend* lenslet_gemm_backend() {
  static const lenslet::OneDnnGemmBackend backend;
  return &backend;
}

LENSLET_MODULE_EXPORT int lenslet_library_info(lenslet::ModuleLibrary* libraries, int capacity) {
  return lenslet::onednn_library_info(libraries, capacity);
}
