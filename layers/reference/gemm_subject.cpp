#include "layers/reference/gemm_subject.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "layers/reference/fill.h"
#include "layers/reference/guarded_run.h"
#include "layers/reference/layer_subject.h"

namespace lenslet::reference {
namespace {

using Values = std::vector<float>;

HostBytes bytes_of(const Values& values) { return {values.data(), values.size() * sizeof(float)}; }

/// Compares C with the sums of products. Returns the fault, also for a write between the rows; empty if none.
std::string compare_product(const GemmProblem& p, const Values& a, const Values& b, const Values& before,
                            const Values& c, double factor, Comparison& comparison) {
  std::vector<bool> written(c.size());
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t t = 0; t < p.k; ++t) {
          const int64_t at_a = batch * p.stride_a + (p.transpose_a ? t * p.lda + i : i * p.lda + t);
          const int64_t at_b = batch * p.stride_b + (p.transpose_b ? j * p.ldb + t : t * p.ldb + j);
          const double product = double{a[static_cast<size_t>(at_a)]} * double{b[static_cast<size_t>(at_b)]};
          sum += product;
          magnitude += std::fabs(product);
        }
        const auto at = static_cast<size_t>(batch * p.stride_c + i * p.ldc + j);
        written[at] = true;
        const double old = p.beta == 0 ? 0 : double{p.beta} * double{before[at]};
        comparison.add(static_cast<int64_t>(at), c[at], double{p.alpha} * sum + old,
                       factor * (std::fabs(p.alpha) * magnitude + std::fabs(old)));
      }
    }
  }
  for (size_t i = 0; i < c.size(); ++i) {
    if (!written[i] && std::memcmp(&c[i], &before[i], sizeof(float)) != 0)
      return concat("wrote between the rows of C, at ", i);
  }
  return {};
}

}  // namespace

GemmProblem gemm_problem(int m, int n, int k, bool transpose_a, bool transpose_b) {
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.transpose_a = transpose_a;
  problem.transpose_b = transpose_b;
  problem.lda = transpose_a ? m : k;
  problem.ldb = transpose_b ? k : n;
  problem.ldc = n;
  return problem;
}

GemmProblem with_slack(GemmProblem problem, int64_t elements) {
  problem.lda += elements;
  problem.ldb += elements;
  problem.ldc += elements;
  return problem;
}

GemmSubject::GemmSubject(const GemmProblem& problem, SubjectOptions options)
    : problem_(problem), options_(options) {
  const GemmProblem& p = problem_;
  text_ = concat("gemm ", p.m, "x", p.n, "x", p.k, p.transpose_a ? " A'" : "", p.transpose_b ? " B'" : "");
  if (p.ldc > p.n) text_ += concat(", rows ", p.ldc - p.n, " apart");
  if (p.batch > 1) text_ += concat(", batch ", p.batch);
  if (p.alpha != 1 || p.beta != 0) text_ += concat(", alpha ", p.alpha, " beta ", p.beta);
}

std::vector<std::string> GemmSubject::backends(DeviceKind kind) const { return gemm_table().names(kind); }

void GemmSubject::open(DeviceKind kind, const std::string& backend) const {
  gemm_table().find(kind, backend).open();
}

VerifyResult GemmSubject::judge(const std::string& backend, MathMode math, Stream& stream,
                                int64_t shift) const {
  const GemmBackend& opened = gemm_table().find(stream.device().kind, backend).open();
  if (const Support support = opened.supports(math); !support) throw UnavailableError(support.reason());
  const std::unique_ptr<Gemm> gemm = opened.prepare(math, stream);
  const GemmProblem& p = problem_;
  VerifyResult result;
  result.detail = gemm->describe();
  for (const Fill fill : {Fill::kIntegers, Fill::kRandom}) {
    const bool integers = fill == Fill::kIntegers;
    const auto values = integers ? small_integers : uniform_values;
    // Elements that the batch of matrices with these rows spans.
    const auto extent = [&p](int64_t rows, int64_t step, int64_t stride) {
      return static_cast<size_t>(rows * step + (p.batch - 1) * stride);
    };
    const Values a = values(extent(p.transpose_a ? p.k : p.m, p.lda, p.stride_a), options_.seed);
    const Values b = values(extent(p.transpose_b ? p.n : p.k, p.ldb, p.stride_b), options_.seed + 1);
    // With beta 0 the product must not read C, so that it holds NaN.
    Values before(extent(p.m, p.ldc, p.stride_c), NAN);
    if (p.beta != 0) before = values(before.size(), options_.seed + 2);
    GuardedOperands operands;
    operands.inputs = {bytes_of(a), bytes_of(b)};
    operands.output_bytes = before.size() * sizeof(float);
    operands.output_before = before.data();
    operands.workspace_bytes = gemm->workspace_bytes();
    operands.shift = shift;
    const GuardedRun run = run_guarded(stream, operands, [&](const GuardedPlaces& places) {
      RunContext context{stream, nullptr, nullptr};
      gemm->run(p, {places.inputs[0], places.inputs[1], places.output}, places.workspace, context);
    });
    Comparison comparison;
    // Two more roundings where the sum is scaled and added.
    const double factor = integers ? 0 : sum_factor(p.k + (p.alpha != 1 || p.beta != 0 ? 2 : 0), math);
    std::string wrong = compare_product(p, a, b, before, run.output, factor, comparison);
    result.add(comparison);
    if (!run.fault.empty()) {
      wrong = run.fault;
    } else if (wrong.empty()) {
      wrong = comparison.reason();
    }
    if (!wrong.empty()) {
      result.reason = concat(to_string(fill), ": ", wrong);
      return result;
    }
  }
  result.passed = true;
  return result;
}

}  // namespace lenslet::reference
