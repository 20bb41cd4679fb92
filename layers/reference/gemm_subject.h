// Verifies matrix products: transposes, steps between rows, batches, alpha and beta.
#pragma once

#include "layers/gemm/gemm_backend.h"
#include "layers/reference/subjects.h"

namespace lenslet::reference {

/// m x n x k with these transposes.
GemmProblem gemm_problem(int m, int n, int k, bool transpose_a = false, bool transpose_b = false);
/// `problem` with `elements` more unused elements after each stored row.
GemmProblem with_slack(GemmProblem problem, int64_t elements);

/// Uses integers and random values; elements between the rows of C must not change.
class GemmSubject : public Subject {
 public:
  /// The steps between rows must be at least their lengths.
  explicit GemmSubject(const GemmProblem& problem, SubjectOptions options = {});
  std::string_view operation() const override { return "gemm"; }
  const std::string& problem() const override { return text_; }
  std::vector<std::string> backends(DeviceKind kind) const override;
  bool uses_math() const override { return true; }
  void open(DeviceKind kind, const std::string& backend) const override;

 private:
  VerifyResult judge(const std::string& backend, MathMode math, Stream& stream, int64_t shift) const override;

  GemmProblem problem_;
  SubjectOptions options_;
  std::string text_;
};

}  // namespace lenslet::reference
