#include "apps/convbench/separable/block.h"

#include <algorithm>
#include <cmath>

#include "apps/measuring/verdict.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/tensor/poison.h"

namespace lenslet {
namespace {

constexpr MathMode kMath = MathMode::kFp32;
constexpr int kFilterEdge = 3;
constexpr int64_t kPartMacs = 1;  // the judges of the parts would choose too few outputs

Conv2dProblem square(const SeparableShape& shape, int filter, int groups = 1) {
  Conv2dProblem problem;
  problem.n = shape.batch;
  problem.c = problem.k = shape.channels;
  problem.h = problem.w = shape.size;
  problem.r = problem.s = filter;
  problem.pad_h = problem.pad_w = filter / 2;
  problem.groups = groups;
  return problem;
}

Conv2dProblem laid_out(Conv2dProblem problem, TensorLayout layout) {
  problem.layout = layout;
  return problem;
}

}  // namespace

Conv2dProblem SeparableShape::standard() const { return square(*this, kFilterEdge); }
Conv2dProblem SeparableShape::depthwise() const { return square(*this, kFilterEdge, channels); }
Conv2dProblem SeparableShape::pointwise() const { return square(*this, 1); }

SeparableBlock::SeparableBlock(const SeparableShape& shape, TensorLayout layout, const ConvBackend& depthwise,
                               const ConvBackend& pointwise, const BenchOptions& options, Stream& stream)
    : StudyTask(options.fill, static_cast<uint64_t>(options.seed) * 1000),
      depthwise_(laid_out(shape.depthwise(), layout)),
      pointwise_(laid_out(shape.pointwise(), layout)),
      depthwise_judge_(depthwise_, options.fill, seed(), kPartMacs),
      pointwise_judge_(pointwise_, options.fill, seed() + 10, kPartMacs),
      services_(stream) {
  const auto prepare = [&](const ConvBackend& backend, const Conv2dProblem& problem, const ConvJudge& judge) {
    return backend.prepare(
        {problem, kMath, judge.weights().data(), nullptr, false, options.workspace_limit, services_, stream});
  };
  depthwise_kernel_ = prepare(depthwise, depthwise_, depthwise_judge_);
  pointwise_kernel_ = prepare(pointwise, pointwise_, pointwise_judge_);
  stream.synchronise();
  depthwise_accuracy_ = accuracy_of(depthwise, *depthwise_kernel_, depthwise_, kMath);
  pointwise_accuracy_ = accuracy_of(pointwise, *pointwise_kernel_, pointwise_, kMath);
  const size_t bytes = depthwise_.input_shape().bytes();
  allocate(stream.device(), concat("a block of ", shape.standard().to_string()),
           {{"input", bytes}, {"between", bytes}, {"output", bytes}, {"workspace", workspace_bytes()}});
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

void SeparableBlock::fill(int round, Stream& stream) {
  data_seed_ = seed() + 100 * (static_cast<uint64_t>(round) + 1);
  data_ = depthwise_judge_.make_case(data_seed_);
  poison(kNanByte, stream);
  upload(kInput, data_.x, stream);
}

void SeparableBlock::run(Stream& stream) {
  RunContext context{stream, workspace_bytes() > 0 ? block(kWorkspace) : nullptr, nullptr};
  depthwise_kernel_->convolve({block(kInput), block(kBetween)}, context);
  pointwise_kernel_->convolve({block(kBetween), output()}, context);
}

// With e[c] the bound of m[c] (layers/conv/conv_accuracy.h):
//   |y - exact| <= sum of |w[k, c]| * e[c]  +  factor * sum of |w[k, c]| * (|m[c]| + e[c])
// If tile transforms mix pixels, |m[c]| + e[c] is replaced by its maximum over the image.
std::vector<StudyTask::Expected> SeparableBlock::answers(int /*answer*/) const {
  const std::vector<float> x =
      depthwise_.layout == TensorLayout::kNhwc ? nhwc_to_nchw(data_.x, depthwise_.input_shape()) : data_.x;
  const int64_t channels = depthwise_.c, pixels = int64_t{depthwise_.h} * depthwise_.w;
  const int64_t outputs = depthwise_.n * channels * pixels;
  const int64_t wanted =
      std::min(outputs, std::max<int64_t>(kReferenceMacs / (channels * kFilterEdge * kFilterEdge), 64));
  reference::Random random(data_seed_ + 3);
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
        const reference::Term m = reference::conv2d_at(depthwise_, x.data(), filters,
                                                       {n, c, pixel / depthwise_.w, pixel % depthwise_.w});
        double filter_sum = 0;
        for (int64_t tap = 0; tap < kFilterEdge * kFilterEdge; ++tap) {
          filter_sum += std::fabs(double{filters[c * kFilterEdge * kFilterEdge + tap]});
        }
        const double largest = data_.image_maximum[static_cast<size_t>(n)] * filter_sum;
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

}  // namespace lenslet
