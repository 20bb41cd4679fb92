#include "apps/convbench/filter/filter_task.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "apps/measuring/verdict.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "layers/reference/choose_outputs.h"
#include "layers/reference/compare.h"
#include "layers/reference/conv_judge.h"
#include "layers/reference/reference.h"

namespace lenslet {
namespace {

// Multiply-adds of the judge per output picture: every output of a 3x3 filter up to 557 x 557 pixels, and a sample of a
// larger picture. Twice kReferenceMacs, so about two hundredths of a second on one core. Chosen by hand.
constexpr int64_t kJudgedMacs = int64_t{1} << 23;

// Fewest pixels for a thread: 49,152 roundings, about 0.2 ms of a core, beside which the 10 us to wake it are little.
constexpr int64_t kPixelsPerThread = 1 << 14;

}  // namespace

FilterTask::FilterTask(RgbValues values, Filter filter, int stride)
    : values_(std::move(values)),
      filter_(std::move(filter)),
      stride_(stride),
      exact_(filter_.exact_on_bytes()),
      weights_(filter_.bank()) {
  problem(TensorLayout::kNchw).check();
}

Conv2dProblem FilterTask::problem(TensorLayout layout) const {
  Conv2dProblem problem;
  problem.c = problem.k = RgbValues::kColours;
  problem.h = values_.height;
  problem.w = values_.width;
  problem.r = filter_.r;
  problem.s = filter_.s;
  problem.stride_h = problem.stride_w = stride_;
  problem.pad_h = filter_.r / 2;
  problem.pad_w = filter_.s / 2;
  problem.layout = layout;
  return problem;
}

std::vector<float> FilterTask::input(int round, TensorLayout layout) const {
  RgbValues changed = values_of_round(values_, round);
  if (layout == TensorLayout::kNhwc) return std::move(changed.values);
  return nhwc_to_nchw(changed.values, {1, RgbValues::kColours, values_.height, values_.width});
}

uint8_t FilterTask::byte_of(double sum) const {
  const double value = std::floor((exact_ ? std::nearbyint(sum) : sum) * filter_.scale + 0.5);
  return static_cast<uint8_t>(std::min(std::max(value, 0.0), double{RgbValues::kMaxByte}));
}

const std::vector<FilterTask::Sample>& FilterTask::samples(int round) {
  if (samples_round_ == round) return samples_;
  const Conv2dProblem shape = problem(TensorLayout::kNchw);
  const int64_t pixels = int64_t{shape.p()} * shape.q();
  const std::vector<float> planes = input(round, TensorLayout::kNchw);  // an image of one channel each
  Conv2dProblem plane = shape;
  plane.c = plane.k = 1;
  const std::vector<int64_t> chosen =
      reference::choose_outputs({RgbValues::kColours, shape.p(), shape.q()},
                                kJudgedMacs / (int64_t{shape.r} * shape.s), static_cast<uint64_t>(round) + 1);
  samples_.resize(chosen.size());
  parallel_for(static_cast<int64_t>(chosen.size()), kPixelsPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t colour = chosen[static_cast<size_t>(i)] / pixels,
                    pixel = chosen[static_cast<size_t>(i)] % pixels;
      const reference::Term term = reference::conv2d_at(plane, planes.data(), filter_.taps.data(),
                                                        {colour, 0, pixel / shape.q(), pixel % shape.q()});
      samples_[static_cast<size_t>(i)] = {colour, pixel, term.value};
    }
  });
  samples_round_ = round;
  return samples_;
}

Verdict FilterTask::judge(int round, TensorLayout layout, const std::vector<float>& output,
                          const ConvAccuracy& accuracy) {
  const Conv2dProblem shape = problem(layout);
  const int64_t pixels = int64_t{shape.p()} * shape.q();
  // No sum over bytes is larger, so this bound also covers tile transforms.
  const double bound = accuracy.factor(conv_terms(shape)) * filter_.magnitude() * RgbValues::kMaxByte;
  const int allowed = exact_ ? 0 : 1;  // a value between two bytes may be rounded to either
  reference::Comparison comparison;
  std::string other_byte;
  for (const Sample& sample : samples(round)) {
    const int64_t index = layout == TensorLayout::kNhwc ? sample.pixel * RgbValues::kColours + sample.colour
                                                        : sample.colour * pixels + sample.pixel;
    const float found = output[static_cast<size_t>(index)];
    comparison.add(index, found, sample.sum, bound);
    if (!other_byte.empty() || !std::isfinite(found)) continue;
    if (std::abs(byte_of(double{found}) - byte_of(sample.sum)) > allowed) {
      other_byte = concat("another byte at ", index, ": expected a sum of ", sample.sum, ", found ", found);
    }
  }
  Verdict verdict = verdict_of(comparison);
  if (verdict.passed && !other_byte.empty()) verdict = {false, verdict.error, other_byte};
  return verdict;
}

Picture FilterTask::picture_of(TensorLayout layout, const std::vector<float>& output) const {
  const Conv2dProblem shape = problem(layout);
  Picture picture{shape.q(), shape.p(), RgbValues::kColours, {}, "PNG"};
  const int64_t pixels = int64_t{shape.p()} * shape.q();
  picture.pixels.resize(static_cast<size_t>(pixels * RgbValues::kColours));
  parallel_for(pixels, kPixelsPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t colour = 0; colour < RgbValues::kColours; ++colour) {
        const int64_t from =
            layout == TensorLayout::kNhwc ? i * RgbValues::kColours + colour : colour * pixels + i;
        picture.pixels[static_cast<size_t>(i * RgbValues::kColours + colour)] =
            byte_of(double{output[static_cast<size_t>(from)]});
      }
    }
  });
  return picture;
}

ByteDifference difference_of(const Picture& a, const Picture& b) {
  constexpr const char* kNames[] = {"red", "green", "blue"};
  ByteDifference difference;
  if (a.pixels == b.pixels) return difference;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    const int by = std::abs(a.pixels[i] - b.pixels[i]);
    if (by == 0) continue;
    if (difference.count++ == 0) {
      const size_t pixel = i / static_cast<size_t>(RgbValues::kColours), width = static_cast<size_t>(a.width);
      difference.first = concat("at row ", pixel / width, ", column ", pixel % width, ", ",
                                kNames[i % static_cast<size_t>(RgbValues::kColours)], ": ", int{a.pixels[i]},
                                " and ", int{b.pixels[i]});
    }
    difference.largest = std::max(difference.largest, by);
  }
  return difference;
}

}  // namespace lenslet
