#include "layers/reference/conv_verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "framework/parallel.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/compare.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {
namespace {

using reference::Fill;
using reference::GuardedMemory;

enum Block : size_t { kInput, kOutput, kWorkspace };

std::string where(const Conv2dProblem& problem, Fill fill, bool bias, bool relu,
                  const std::optional<Pool2dWindow>& pool) {
  std::string text = concat(problem.to_string(), problem.layout == TensorLayout::kNhwc ? ", NHWC, " : ", ",
                            to_string(fill), bias ? ", bias" : "", relu ? ", relu" : "");
  if (pool) {
    text += concat(", max pool ", pool->kernel_h, "x", pool->kernel_w, " stride ", pool->stride_h, "x",
                   pool->stride_w, " pad ", pool->pad_h, "x", pool->pad_w);
  }
  return text;
}

}  // namespace

ConvVerifier::ConvVerifier(const Conv2dProblem& problem, const ConvVerifyOptions& options)
    : problem_(problem), options_(options) {
  for (Fill fill : {Fill::kIntegers, Fill::kRandom, Fill::kOneHot}) {
    const uint64_t seed = options.seed * 1000 + static_cast<uint64_t>(fill) * 10;
    ConvJudge judge(problem, fill, seed, options.max_reference_macs, options.max_pool);
    ConvCase data = judge.make_case(seed);
    fills_.push_back({std::move(judge), std::move(data)});
  }
}

ConvVerifyResult ConvVerifier::verify(const ConvBackend& backend, MathMode math, Stream& stream) const {
  ConvVerifyResult result;
  const Support support = backend.supports(problem_, math);
  if (!support) throw UnavailableError(support.reason());
  if (options_.max_pool) {
    const Support pooled = backend.fuses_max_pool(problem_, math, *options_.max_pool);
    if (!pooled) throw UnavailableError(pooled.reason());
  }
  std::vector<Variant> variants = {{false, false}};
  if (options_.bias_and_relu) {
    variants.push_back({true, false});
    if (backend.fuses_relu()) {
      variants.push_back({false, true});
      variants.push_back({true, true});
    }
  }
  // What the backend chose for the first fill it takes for the others: timing candidates takes longer than verifying.
  std::vector<std::string> choices(variants.size());
  for (const FillCase& fill : fills_) {
    for (size_t i = 0; i < variants.size(); ++i) {
      run_variant(fill, variants[i], backend, math, stream, choices[i], result);
      if (!result.reason.empty()) return result;
    }
  }
  result.passed = true;
  return result;
}

void ConvVerifier::run_variant(const FillCase& fill, Variant variant, const ConvBackend& backend,
                               MathMode math, Stream& stream, std::string& choice,
                               ConvVerifyResult& result) const {
  const ConvCase& data = fill.data;
  const auto fail = [&](const std::string& what) {
    result.reason =
        concat(where(problem_, data.fill, variant.bias, variant.relu, options_.max_pool), ": ", what);
  };
  if (const std::string error = fill.judge.size_error(); !error.empty()) return fail(error);
  DevicePrepareServices services(stream, options_.timing);
  std::unique_ptr<ConvKernel> kernel;
  {
    // Copies that go away: a kernel that keeps the pointers reads NaN.
    std::vector<float> weights = fill.judge.weights(), bias = fill.judge.bias();
    kernel =
        backend.prepare({problem_, math, weights.data(), variant.bias ? bias.data() : nullptr, variant.relu,
                         options_.workspace_limit, services, stream, choice, options_.max_pool});
    choice = kernel->choice();
    stream.synchronize();
    std::fill(weights.begin(), weights.end(), NAN);
    std::fill(bias.begin(), bias.end(), NAN);
  }
  result.detail = kernel->detail();
  if (kernel->workspace_bytes() > options_.workspace_limit) {
    return fail(concat("wants ", kernel->workspace_bytes(), " bytes of workspace, the limit is ",
                       options_.workspace_limit));
  }

  const auto outputs = static_cast<size_t>(fill.judge.outputs());
  GuardedMemory memory(stream.device(),
                       {data.x.size() * sizeof(float), outputs * sizeof(float), kernel->workspace_bytes()});
  RunContext context{stream, kernel->workspace_bytes() > 0 ? memory.block(kWorkspace) : nullptr, nullptr};
  // The second run finds other garbage in output, workspace and canaries: a difference means
  // that some of it was used.
  std::vector<float> y, first, x_after(data.x.size());
  for (int byte : {GuardedMemory::kNanByte, GuardedMemory::kMarkByte}) {
    memory.poison(byte, stream);
    memory.upload(kInput, data.x.data(), stream);
    kernel->run({static_cast<const float*>(memory.block(kInput)), static_cast<float*>(memory.block(kOutput))},
                context);
    stream.synchronize();
    y.resize(outputs);
    memory.download(kOutput, y.data(), stream);
    const std::string damage = memory.damage(byte, stream);
    if (!damage.empty()) return fail(concat(damage, " (blocks: 0 input, 1 output, 2 workspace)"));
    memory.download(kInput, x_after.data(), stream);
    if (std::memcmp(x_after.data(), data.x.data(), x_after.size() * sizeof(float)) != 0)
      return fail("changed its input");
    if (first.empty()) first.swap(y);
  }
  if (std::memcmp(first.data(), y.data(), outputs * sizeof(float)) != 0) {
    size_t i = 0;
    while (std::memcmp(&first[i], &y[i], sizeof(float)) == 0) ++i;
    return fail(concat("two runs differ at ", i, ": ", first[i], " and ", y[i]));
  }
  // Every element, sampled or not, must be a number.
  const auto odd = std::find_if_not(y.begin(), y.end(), [](float value) { return std::isfinite(value); });
  if (odd != y.end()) return fail(concat("found ", *odd, " at ", odd - y.begin()));

  const reference::Comparison comparison =
      fill.judge.compare(data, y, accuracy_of(backend, *kernel, problem_, math), variant.bias, variant.relu);
  result.checked += comparison.checked();
  result.max_abs = std::max(result.max_abs, comparison.max_abs());
  if (data.fill == Fill::kRandom || !comparison.passed()) {
    result.max_rel = std::max(result.max_rel, comparison.max_rel());
    result.bound = std::max(result.bound, comparison.bound());
  }
  if (!comparison.passed()) fail(comparison.reason());
}

}  // namespace lenslet
