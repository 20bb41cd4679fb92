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

std::string where(const Conv2dProblem& problem, Fill fill, bool bias, bool relu) {
  return concat(problem.to_string(), ", ", to_string(fill), bias ? ", bias" : "", relu ? ", relu" : "");
}

/// The outputs to judge: all, or a random choice with both ends.
std::vector<int64_t> choose_outputs(int64_t outputs, int64_t wanted, uint64_t seed) {
  std::vector<int64_t> chosen;
  if (wanted >= outputs) {
    for (int64_t i = 0; i < outputs; ++i) chosen.push_back(i);
    return chosen;
  }
  reference::Random random(seed);
  chosen = {0, outputs - 1};
  while (static_cast<int64_t>(chosen.size()) < wanted) {
    chosen.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(outputs))));
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

}  // namespace

ConvVerifier::ConvVerifier(const Conv2dProblem& problem, const ConvVerifyOptions& options)
    : problem_(problem), options_(options) {
  problem_.validate();
  rows_ = reference::output_size(problem.h, problem.r, problem.stride_h, problem.pad_h, problem.dilation_h);
  columns_ =
      reference::output_size(problem.w, problem.s, problem.stride_w, problem.pad_w, problem.dilation_w);
  for (Fill fill : {Fill::kIntegers, Fill::kRandom, Fill::kOneHot}) cases_.push_back(make_case(fill));
}

ConvVerifier::Case ConvVerifier::make_case(Fill fill) const {
  const auto input_size = static_cast<size_t>(problem_.input_shape().num_elements());
  const auto weight_size = static_cast<size_t>(problem_.weight_shape().num_elements());
  const auto samples = static_cast<size_t>(problem_.n), outputs = static_cast<size_t>(problem_.k);
  const uint64_t seed = options_.seed * 1000 + static_cast<uint64_t>(fill) * 10;
  Case data;
  data.fill = fill;
  switch (fill) {
    case Fill::kIntegers:
      data.x = reference::small_integers(input_size, seed);
      data.weights = reference::small_integers(weight_size, seed + 1);
      data.bias = reference::small_integers(outputs, seed + 2);
      break;
    case Fill::kRandom:
      data.x = reference::uniform_values(input_size, seed);
      data.weights = reference::uniform_values(weight_size, seed + 1);
      data.bias = reference::uniform_values(outputs, seed + 2);
      break;
    case Fill::kOneHot:
      data.x = reference::one_hot(samples, input_size / samples, seed);
      data.weights = reference::distinct_integers(weight_size, seed + 1);
      data.bias = reference::distinct_integers(outputs, seed + 2);
      break;
  }
  const auto absolute_sum = [](const float* begin, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += std::fabs(double{begin[i]});
    return sum;
  };
  for (size_t n = 0; n < samples; ++n) {
    double largest = 0;
    for (size_t i = 0; i < input_size / samples; ++i) {
      largest = std::max(largest, std::fabs(double{data.x[n * (input_size / samples) + i]}));
    }
    data.image_maximum.push_back(largest);
  }
  for (size_t k = 0; k < outputs; ++k) {
    data.filter_sum.push_back(
        absolute_sum(&data.weights[k * (weight_size / outputs)], weight_size / outputs));
  }

  const int64_t all = int64_t{problem_.n} * problem_.k * rows_ * columns_;
  const int64_t wanted = std::max<int64_t>(options_.max_reference_macs / conv_terms(problem_), 64);
  const std::vector<int64_t> chosen = choose_outputs(all, wanted, seed + 3);
  data.samples.resize(chosen.size());
  parallel_for(static_cast<int64_t>(chosen.size()), 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Sample& sample = data.samples[static_cast<size_t>(i)];
      sample.index = chosen[static_cast<size_t>(i)];
      const int64_t plane = sample.index / (rows_ * columns_), place = sample.index % (rows_ * columns_);
      sample.n = plane / problem_.k;
      sample.k = plane % problem_.k;
      sample.term = reference::conv2d_at(problem_, data.x.data(), data.weights.data(), sample.n, sample.k,
                                         place / columns_, place % columns_);
    }
  });
  return data;
}

ConvVerifyResult ConvVerifier::verify(const ConvBackend& backend, MathMode math, Stream& stream) const {
  ConvVerifyResult result;
  const Support support = backend.supports(problem_, math);
  if (!support) throw UnavailableError(support.reason());
  std::vector<Variant> variants = {{false, false}};
  if (options_.bias_and_relu) {
    variants.push_back({true, false});
    if (backend.fuses_relu()) {
      variants.push_back({false, true});
      variants.push_back({true, true});
    }
  }
  for (const Case& data : cases_) {
    for (Variant variant : variants) {
      run_variant(data, variant, backend, math, stream, result);
      if (!result.reason.empty()) return result;
    }
  }
  result.passed = true;
  return result;
}

void ConvVerifier::run_variant(const Case& data, Variant variant, const ConvBackend& backend, MathMode math,
                               Stream& stream, ConvVerifyResult& result) const {
  const auto fail = [&](const std::string& what) {
    result.reason = concat(where(problem_, data.fill, variant.bias, variant.relu), ": ", what);
  };
  if (problem_.p() != rows_ || problem_.q() != columns_) {
    return fail(concat("output size ", problem_.p(), "x", problem_.q(), ", the reference counts ", rows_, "x",
                       columns_));
  }
  DevicePrepareServices services(stream);
  std::unique_ptr<ConvKernel> kernel;
  {
    // Copies that go away: a kernel that keeps the pointers reads NaN.
    std::vector<float> weights = data.weights, bias = data.bias;
    kernel = backend.prepare({problem_, math, weights.data(), variant.bias ? bias.data() : nullptr,
                              variant.relu, options_.workspace_limit, services, stream});
    stream.synchronize();
    std::fill(weights.begin(), weights.end(), NAN);
    std::fill(bias.begin(), bias.end(), NAN);
  }
  result.detail = kernel->detail();
  if (kernel->workspace_bytes() > options_.workspace_limit) {
    return fail(concat("wants ", kernel->workspace_bytes(), " bytes of workspace, the limit is ",
                       options_.workspace_limit));
  }

  const auto outputs = static_cast<size_t>(int64_t{problem_.n} * problem_.k * rows_ * columns_);
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

  const ConvAccuracy accuracy = backend.accuracy(problem_, math);
  const double factor = accuracy.factor(conv_terms(problem_));
  const bool exact = accuracy.exact_on_integers && data.fill != Fill::kRandom;
  reference::Comparison comparison;
  for (const Sample& sample : data.samples) {
    const auto k = static_cast<size_t>(sample.k);
    const double bias = variant.bias ? double{data.bias[k]} : 0;
    const double magnitude = accuracy.by_image_maximum
                                 ? data.image_maximum[static_cast<size_t>(sample.n)] * data.filter_sum[k]
                                 : sample.term.magnitude;
    const double expected = sample.term.value + bias;
    comparison.add(sample.index, y[static_cast<size_t>(sample.index)],
                   variant.relu ? std::max(expected, 0.0) : expected,
                   exact ? 0 : factor * (magnitude + std::fabs(bias)));
  }
  result.checked += comparison.checked();
  result.max_abs = std::max(result.max_abs, comparison.max_abs());
  if (data.fill == Fill::kRandom || !comparison.passed()) {
    result.max_rel = std::max(result.max_rel, comparison.max_rel());
    result.bound = std::max(result.bound, comparison.bound());
  }
  if (!comparison.passed()) fail(comparison.reason());
}

}  // namespace lenslet
