#include "layers/reference/conv_verify.h"

#include <algorithm>
#include <cmath>

#include "framework/tensor/stored_floats.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/compare.h"
#include "layers/reference/guarded_run.h"

namespace lenslet {
namespace {

using reference::Fill;

// Exact on integers: a power of two, and a ceiling that sums of all kinds of data exceed.
constexpr float kSlope = 0.25f, kCeiling = 0.5f;

std::string where(const Conv2dProblem& problem, Fill fill, bool bias, const Rectifier& after,
                  const ConvVerifyOptions& options) {
  const std::optional<Pool2dWindow>& pool = options.max_pool;
  const ConvEnds& ends = options.ends;
  std::string text =
      concat(problem.to_string(), problem.layout == TensorLayout::kNhwc ? ", NHWC, " : ", ",
             problem.type == ElementType::kFp32 ? "" : concat(problem.type.name(), ", "),
             ends.fp32() ? "" : concat(ends.x.name(), " in, ", ends.y.name(), " out, "), to_string(fill),
             bias ? ", bias" : "", after.none() ? "" : concat(", ", after.to_string()));
  if (pool) {
    text += concat(", max pool ", pool->r, "x", pool->s, " stride ", pool->stride_h, "x", pool->stride_w,
                   " pad ", pool->pad_h, "x", pool->pad_w);
  }
  return text;
}

}  // namespace

ConvVerifier::ConvVerifier(const Conv2dProblem& problem, const ConvVerifyOptions& options)
    : problem_(problem), options_(options) {
  for (Fill fill : {Fill::kIntegers, Fill::kRandom, Fill::kOneHot}) {
    const uint64_t seed = options.seed * 1000 + static_cast<uint64_t>(fill) * 10;
    ConvJudge judge(problem, fill, seed, options.max_reference_macs, options.max_pool, options.ends);
    ConvCase data = judge.make_case(seed);
    fills_.push_back({std::move(judge), std::move(data)});
  }
}

ConvVerifier ConvVerifier::in_nhwc() const {
  ConvVerifier other = *this;
  other.problem_.layout = TensorLayout::kNhwc;
  for (FillCase& fill : other.fills_) fill = {fill.judge.in_nhwc(), fill.judge.in_nhwc(fill.data)};
  return other;
}

VerifyResult ConvVerifier::verify(const ConvBackend& backend, MathMode math, Stream& stream) const {
  VerifyResult result;
  const Support support = backend.supports(problem_, math);
  if (!support) throw UnavailableError(support.reason());
  if (options_.max_pool) {
    const Support pooled = backend.fuses_max_pool(problem_, math, *options_.max_pool);
    if (!pooled) throw UnavailableError(pooled.reason());
  }
  if (const Support taken = backend.takes_ends(problem_, math, options_.ends, options_.max_pool); !taken)
    throw UnavailableError(taken.reason());
  std::vector<Epilogue> epilogues = {{false, false}};
  if (options_.bias_and_relu) {
    epilogues.push_back({true, false});
    if (backend.fuses_rectifier(Rectifier(true))) {
      epilogues.push_back({false, true});
      epilogues.push_back({true, true});
    }
    const Rectifier both(kSlope, kCeiling);
    if (backend.fuses_rectifier(both)) {
      epilogues.push_back({true, both});
    } else {  // it may fuse one of the two
      for (const Rectifier& alone : {Rectifier(kSlope, INFINITY), Rectifier(0, kCeiling)}) {
        if (backend.fuses_rectifier(alone)) epilogues.push_back({true, alone});
      }
    }
  }
  // The backend's choice for the first fill is replayed for the others: timing candidates takes longer than verifying.
  std::vector<std::string> choices(epilogues.size());
  for (const FillCase& fill : fills_) {
    for (size_t i = 0; i < epilogues.size(); ++i) {
      run_epilogue(fill, epilogues[i], backend, math, stream, choices[i], result);
      if (!result.reason.empty()) return result;
    }
  }
  result.passed = true;
  return result;
}

void ConvVerifier::run_epilogue(const FillCase& fill, Epilogue epilogue, const ConvBackend& backend,
                                MathMode math, Stream& stream, std::string& choice,
                                VerifyResult& result) const {
  const ConvCase& data = fill.data;
  const auto fail = [&](const std::string& what) {
    result.reason = concat(where(problem_, data.fill, epilogue.bias, epilogue.after, options_), ": ", what);
  };
  if (const std::string error = fill.judge.size_error(); !error.empty()) return fail(error);
  DevicePrepareServices services(stream, options_.timing);
  std::unique_ptr<ConvKernel> kernel;
  {
    // Temporary copies: a kernel that keeps the pointers will read NaN.
    std::vector<float> weights = fill.judge.weights(), bias = fill.judge.bias();
    kernel = backend.prepare({problem_, math, weights.data(), epilogue.bias ? bias.data() : nullptr,
                              epilogue.after, options_.workspace_limit, services, stream, choice,
                              options_.max_pool, options_.ends});
    choice = kernel->choice();
    stream.synchronise();
    std::fill(weights.begin(), weights.end(), NAN);
    std::fill(bias.begin(), bias.end(), NAN);
  }
  result.detail = kernel->detail();

  reference::GuardedOperands operands;
  const bool fp32 = problem_.type == ElementType::kFp32;
  const ConvEnds ends = fp32 ? options_.ends : ConvEnds{problem_.type, problem_.type};
  const auto count = static_cast<int64_t>(data.x.size());
  std::vector<float> stored;  // empty in fp32, whose values are stored as they are
  if (ends.x != ElementType::kFp32) stored = stored_floats(ends.x, data.x.data(), count);
  const std::vector<float>& x = stored.empty() ? data.x : stored;
  operands.inputs = {{x.data(), bytes_of(ends.x, count)}};
  operands.output_bytes = bytes_of(ends.y, fill.judge.outputs());
  operands.output_type = ends.y;
  operands.workspace_bytes = kernel->workspace_bytes();
  const reference::GuardedRun run =
      run_guarded(stream, operands, [&](const reference::GuardedPlaces& places) {
        RunContext context{stream, places.workspace, nullptr};
        kernel->convolve({places.inputs[0], places.output}, context);
      });
  if (!run.fault.empty()) return fail(run.fault);
  std::vector<float> loaded;  // empty in fp32, too
  if (ends.y != ElementType::kFp32) {
    loaded.resize(static_cast<size_t>(fill.judge.outputs()));
    load_floats(ends.y, run.output.data(), fill.judge.outputs(), loaded.data());
  }
  const std::vector<float>& y = loaded.empty() ? run.output : loaded;
  // Every element, sampled or not, must be a number.
  const auto odd = std::find_if_not(y.begin(), y.end(), [](float value) { return std::isfinite(value); });
  if (odd != y.end()) return fail(concat("found ", *odd, " at ", odd - y.begin()));

  const reference::Comparison comparison = fill.judge.compare(
      data, y, accuracy_of(backend, *kernel, problem_, math), epilogue.bias, epilogue.after);
  result.checked += comparison.checked();
  result.max_abs = std::max(result.max_abs, comparison.max_abs());
  if (data.fill == Fill::kRandom || !comparison.passed()) {
    result.max_rel = std::max(result.max_rel, comparison.max_rel());
    result.bound = std::max(result.bound, comparison.bound());
  }
  if (!comparison.passed()) fail(comparison.reason());
}

}  // namespace lenslet
