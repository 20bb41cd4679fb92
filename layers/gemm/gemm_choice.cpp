// The check of a product, and the backend of products for other layers: the first row of the table whose code can be
// opened.
#include <utility>

#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

void check_problem(const GemmProblem& problem) {
  const auto check_step = [](const char* name, int64_t step, int64_t row) {
    if (step < row)
      throw UsageError(
          concat("gemm: ", name, " must be at least the row's ", row, " elements, found ", step));
  };
  if (problem.m < 0 || problem.n < 0 || problem.k < 0 || problem.batch < 0) {
    throw UsageError(concat("gemm sizes must not be negative, found m=", problem.m, " n=", problem.n,
                            " k=", problem.k, " batch=", problem.batch));
  }
  check_step("lda", problem.lda, problem.transpose_a ? problem.m : problem.k);
  check_step("ldb", problem.ldb, problem.transpose_b ? problem.k : problem.n);
  check_step("ldc", problem.ldc, problem.n);
}

/// A product of the chosen backend, which also reports why the rows before it were not chosen.
class ChosenGemm : public Gemm {
 public:
  ChosenGemm(std::unique_ptr<Gemm> gemm, const std::string& unavailable)
      : gemm_(std::move(gemm)), unavailable_(unavailable) {}
  size_t workspace_bytes() const override { return gemm_->workspace_bytes(); }
  std::string describe() const override { return concat(gemm_->describe(), " instead of ", unavailable_); }

 private:
  void multiply(const GemmProblem& problem, const GemmArgs& args, void* workspace,
                RunContext& context) override {
    gemm_->run(problem, args, workspace, context);
  }
  std::unique_ptr<Gemm> gemm_;
  std::string unavailable_;
};

class ChosenBackend : public GemmBackend {
 public:
  ChosenBackend(const GemmBackend& backend, std::string unavailable)
      : backend_(backend), unavailable_(std::move(unavailable)) {}
  Support supports(MathMode math) const override { return backend_.supports(math); }
  Determinism determinism() const override { return backend_.determinism(); }
  std::unique_ptr<Gemm> prepare_half(Stream& stream) const override {
    return described(backend_.prepare_half(stream));
  }

 private:
  std::unique_ptr<Gemm> make(MathMode math, Stream& stream) const override {
    return described(backend_.prepare(math, stream));
  }
  std::unique_ptr<Gemm> described(std::unique_ptr<Gemm> gemm) const {
    if (unavailable_.empty()) return gemm;
    return std::make_unique<ChosenGemm>(std::move(gemm), unavailable_);
  }

  const GemmBackend& backend_;
  std::string unavailable_;  // the rows before it, with the reasons
};

}  // namespace

void Gemm::run(const GemmProblem& problem, const GemmArgs& args, void* workspace, RunContext& context) {
  check_problem(problem);
  multiply(problem, args, workspace, context);
}

std::unique_ptr<const GemmBackend> first_gemm_backend(
    const std::vector<BackendTable<GemmBackend>::Entry>& entries) {
  std::string unavailable;
  for (const BackendTable<GemmBackend>::Entry& entry : entries) {
    try {
      return std::make_unique<ChosenBackend>(entry.open(), unavailable);
    } catch (const UnavailableError& error) {
      unavailable += concat(unavailable.empty() ? "" : ", ", entry.name(), " (", error.what(), ")");
    }
  }
  throw UnavailableError(concat("no backend of matrix products is available: ", unavailable));
}

const GemmBackend& gemm_backend(DeviceKind device) {
  if (device == DeviceKind::kCuda) {
    static const auto chosen = first_gemm_backend(gemm_table().entries(DeviceKind::kCuda));
    return *chosen;
  }
  static const auto chosen = first_gemm_backend(gemm_table().entries(DeviceKind::kCpu));
  return *chosen;
}

}  // namespace lenslet
