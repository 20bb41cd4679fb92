#include "apps/convbench/separable/block.h"

#include <algorithm>
#include <cmath>

#include "apps/convbench/bench/verdict.h"
#include "framework/error.h"
#include "framework/parallel.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

constexpr MathMode kMath = MathMode::kFp32;
constexpr int kKernel = 3;
// Multiply-adds of the reference for one input; the judges of the parts would choose too few outputs.
constexpr int64_t kReferenceMacs = int64_t{1} << 22, kPartMacs = 1;

Conv2dProblem square(int batch, int channels, int size, int kernel, int groups) {
  Conv2dProblem problem;
  problem.n = batch;
  problem.c = problem.k = channels;
  problem.h = problem.w = size;
  problem.r = problem.s = kernel;
  problem.pad_h = problem.pad_w = kernel / 2;
  problem.groups = groups;
  return problem;
}

Conv2dProblem laid_out(Conv2dProblem problem, TensorLayout layout) {
  problem.layout = layout;
  return problem;
}

}  // namespace

Conv2dProblem SeparableShape::standard() const { return square(batch, channels, size, kKernel, 1); }
Conv2dProblem SeparableShape::depthwise() const { return square(batch, channels, size, kKernel, channels); }
Conv2dProblem SeparableShape::pointwise() const { return square(batch, channels, size, 1, 1); }

SeparableBlock::SeparableBlock(std::string name, const SeparableShape& shape, TensorLayout layout,
                               const ConvBackend& depthwise, const ConvBackend& pointwise,
                               const BenchOptions& options, Stream& stream)
    : name_(std::move(name)),
      depthwise_(laid_out(shape.depthwise(), layout)),
      pointwise_(laid_out(shape.pointwise(), layout)),
      seed_(static_cast<uint64_t>(options.seed) * 1000),
      depthwise_judge_(depthwise_, options.fill, seed_, kPartMacs),
      pointwise_judge_(pointwise_, options.fill, seed_ + 10, kPartMacs),
      stream_(stream),
      services_(stream) {
  const auto prepare = [&](const ConvBackend& backend, const Conv2dProblem& problem, const ConvJudge& judge) {
    return backend.prepare(
        {problem, kMath, judge.weights().data(), nullptr, false, options.workspace_limit, services_, stream});
  };
  depthwise_kernel_ = prepare(depthwise, depthwise_, depthwise_judge_);
  pointwise_kernel_ = prepare(pointwise, pointwise_, pointwise_judge_);
  stream.synchronize();
  depthwise_accuracy_ = accuracy_of(depthwise, *depthwise_kernel_, depthwise_, kMath);
  pointwise_accuracy_ = accuracy_of(pointwise, *pointwise_kernel_, pointwise_, kMath);
  const size_t bytes = depthwise_.input_shape().bytes();
  memory_.emplace(stream.device(), std::vector<size_t>{bytes, bytes, bytes, workspace_bytes()});
}

size_t SeparableBlock::workspace_bytes() const {
  return std::max(depthwise_kernel_->workspace_bytes(), pointwise_kernel_->workspace_bytes());
}

std::vector<LaunchResources> SeparableBlock::launches() const {
  std::vector<LaunchResources> launches = depthwise_kernel_->launches();
  for (LaunchResources& launch : pointwise_kernel_->launches()) launches.push_back(std::move(launch));
  return launches;
}

std::string SeparableBlock::detail() const {
  return concat(depthwise_kernel_->detail(), "; ", pointwise_kernel_->detail());
}

void SeparableBlock::load(int round, Stream& stream) {
  if (round == loaded_) return;
  const uint64_t seed = seed_ + 100 * (static_cast<uint64_t>(round) + 1);
  const ConvCase data = depthwise_judge_.make_case(seed);
  expected_ = expected_of(
      data,
      depthwise_.layout == TensorLayout::kNhwc ? nhwc_to_nchw(data.x, depthwise_.input_shape()) : data.x,
      seed);
  memory_->poison(GuardedMemory::kNanByte, stream);
  memory_->upload(kInput, data.x.data(), stream);
  stream.synchronize();
  loaded_ = round;
}

void SeparableBlock::run(Stream& stream) {
  RunContext context{stream, workspace_bytes() > 0 ? memory_->block(kWorkspace) : nullptr, nullptr};
  auto* between = static_cast<float*>(memory_->block(kBetween));
  depthwise_kernel_->run({static_cast<const float*>(memory_->block(kInput)), between}, context);
  pointwise_kernel_->run({between, output()}, context);
}

// With e[c] the bound of m[c] (layers/conv/conv_accuracy.h):
//   |y - exact| <= sum of |w[k, c]| * e[c]  +  factor * sum of |w[k, c]| * (|m[c]| + e[c])
// If tile transforms mix pixels, |m[c]| + e[c] is replaced by its maximum over the image.
std::vector<SeparableBlock::Expected> SeparableBlock::expected_of(const ConvCase& data,
                                                                  const std::vector<float>& x_nchw,
                                                                  uint64_t seed) const {
  const int64_t channels = depthwise_.c, pixels = int64_t{depthwise_.h} * depthwise_.w;
  const int64_t outputs = depthwise_.n * channels * pixels;
  const int64_t wanted =
      std::min(outputs, std::max<int64_t>(kReferenceMacs / (channels * kKernel * kKernel), 64));
  reference::Random random(seed + 3);
  std::vector<Expected> expected(static_cast<size_t>(wanted));
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i].index = i == 0   ? 0
                        : i == 1 ? outputs - 1
                                 : static_cast<int64_t>(random.below(static_cast<uint64_t>(outputs)));
  }
  const float* filters = depthwise_judge_.weights().data();
  const float* mix = pointwise_judge_.weights().data();
  const double first_factor = depthwise_accuracy_.factor(conv_terms(depthwise_));
  const double second_factor = pointwise_accuracy_.factor(conv_terms(pointwise_));
  parallel_for(wanted, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Expected& output = expected[static_cast<size_t>(i)];
      const int64_t n = output.index / (channels * pixels), k = output.index / pixels % channels;
      const int64_t pixel = output.index % pixels;
      if (depthwise_.layout == TensorLayout::kNhwc) output.index = (n * pixels + pixel) * channels + k;
      for (int64_t c = 0; c < channels; ++c) {
        const reference::Term m = reference::conv2d_at(depthwise_, x_nchw.data(), filters, n, c,
                                                       pixel / depthwise_.w, pixel % depthwise_.w);
        double filter_sum = 0;
        for (int64_t tap = 0; tap < kKernel * kKernel; ++tap) {
          filter_sum += std::fabs(double{filters[c * kKernel * kKernel + tap]});
        }
        const double largest = data.image_maximum[static_cast<size_t>(n)] * filter_sum;
        const double weight = double{mix[k * channels + c]};
        const double error = first_factor * (depthwise_accuracy_.by_image_maximum ? largest : m.magnitude);
        const double reach = pointwise_accuracy_.by_image_maximum ? largest : std::fabs(m.value);
        output.value += weight * m.value;
        output.bound += std::fabs(weight) * (error + second_factor * (reach + error));
      }
    }
  });
  return expected;
}

Verdict SeparableBlock::judge(int round, const std::vector<float>& output) {
  Verdict verdict;
  if (round != loaded_) {
    verdict.reason = concat("input ", round, " is not loaded");
    return verdict;
  }
  reference::Comparison comparison;
  for (const Expected& expected : expected_) {
    comparison.add(expected.index, output[static_cast<size_t>(expected.index)], expected.value,
                   expected.bound);
  }
  verdict = verdict_of(comparison);
  const auto odd =
      std::find_if_not(output.begin(), output.end(), [](float value) { return std::isfinite(value); });
  if (verdict.reason.empty() && odd != output.end()) {
    verdict.reason = concat("found ", *odd, " at ", odd - output.begin());
  }
  if (verdict.reason.empty()) {
    if (const std::string damage = memory_->damage(GuardedMemory::kNanByte, stream_); !damage.empty()) {
      verdict.reason = concat(damage, " (blocks: 0 input, 1 between, 2 output, 3 workspace)");
    }
  }
  verdict.passed = comparison.passed() && verdict.reason.empty();
  return verdict;
}

}  // namespace lenslet
