#include "apps/convbench/filter/filter_task.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "framework/error.h"
#include "framework/parallel.h"
#include "layers/reference/conv_judge.h"

namespace lenslet {
namespace {

constexpr int64_t kColors = 3;
constexpr double kLargestByte = 255;
// Multiply-adds of one judgement.
constexpr int64_t kJudgedMacs = int64_t{1} << 23;

// Pixels below which a second thread costs more than it brings.
constexpr int64_t kPixelsPerThread = 1 << 14;

/// What one row showed.
struct RowVerdict {
  double max_abs = 0, max_expected = 0;
  int64_t wrong = 0;
  std::string first;
};

}  // namespace

FilterTask::FilterTask(Picture picture, Filter filter, int stride)
    : picture_(std::move(picture)),
      filter_(std::move(filter)),
      stride_(stride),
      exact_(filter_.exact_on_bytes()),
      weights_(filter_.bank()) {
  problem(TensorLayout::kNchw).validate();
}

Conv2dProblem FilterTask::problem(TensorLayout layout) const {
  Conv2dProblem problem;
  problem.c = problem.k = kColors;
  problem.h = picture_.height;
  problem.w = picture_.width;
  problem.r = filter_.r;
  problem.s = filter_.s;
  problem.stride_h = problem.stride_w = stride_;
  problem.pad_h = filter_.r / 2;
  problem.pad_w = filter_.s / 2;
  problem.layout = layout;
  return problem;
}

std::vector<float> FilterTask::input(int round, TensorLayout layout) const {
  Picture variant = variant_of(picture_, round);
  if (layout == TensorLayout::kNhwc) return std::move(variant.values);
  return nhwc_to_nchw(variant.values, {1, kColors, picture_.height, picture_.width});
}

double FilterTask::sum_at(const Picture& input, int64_t p, int64_t q, int64_t color) const {
  double sum = 0;
  for (int64_t r = 0; r < filter_.r; ++r) {
    const int64_t h = p * stride_ - filter_.r / 2 + r;
    if (h < 0 || h >= input.height) continue;
    for (int64_t s = 0; s < filter_.s; ++s) {
      const int64_t w = q * stride_ - filter_.s / 2 + s;
      if (w < 0 || w >= input.width) continue;
      sum += double{filter_.taps[static_cast<size_t>(r * filter_.s + s)]} *
             double{input.values[static_cast<size_t>((h * input.width + w) * kColors + color)]};
    }
  }
  return sum;
}

uint8_t FilterTask::byte_of(double sum) const {
  const double value = std::floor((exact_ ? std::nearbyint(sum) : sum) * filter_.scale + 0.5);
  return static_cast<uint8_t>(std::min(std::max(value, 0.0), kLargestByte));
}

Verdict FilterTask::judge(int round, TensorLayout layout, const std::vector<float>& output,
                          const ConvAccuracy& accuracy) {
  if (variant_round_ != round) {
    variant_ = variant_of(picture_, round);
    variant_round_ = round;
  }
  const Conv2dProblem shape = problem(layout);
  const int64_t rows = shape.p(), columns = shape.q(), row_macs = columns * kColors * shape.r * shape.s;
  const int64_t step = std::max<int64_t>(1, rows * row_macs / kJudgedMacs);
  const int64_t judged = (rows + step - 1) / step;
  // No sum of a picture's bytes is larger, so this bound holds for transforms of tiles as well.
  const double bound = accuracy.factor(conv_terms(shape)) * filter_.magnitude() * kLargestByte;
  const int allowed = exact_ ? 0 : 1;  // a value on the edge between two bytes may fall to either
  std::vector<RowVerdict> verdicts(static_cast<size_t>(judged));
  parallel_for(judged, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      RowVerdict& row = verdicts[static_cast<size_t>(i)];
      const int64_t p = i * step;
      for (int64_t q = 0; q < columns; ++q) {
        for (int64_t color = 0; color < kColors; ++color) {
          const int64_t index = layout == TensorLayout::kNhwc ? (p * columns + q) * kColors + color
                                                              : (color * rows + p) * columns + q;
          const double found = output[static_cast<size_t>(index)], expected = sum_at(*variant_, p, q, color);
          const double error = std::fabs(found - expected);
          row.max_abs = std::max(row.max_abs, error);
          row.max_expected = std::max(row.max_expected, std::fabs(expected));
          if (error <= bound && std::abs(byte_of(found) - byte_of(expected)) <= allowed) continue;
          if (row.wrong++ == 0) row.first = concat(index, ": expected ", expected, ", found ", found);
        }
      }
    }
  });
  Verdict verdict;
  verdict.error.bound = bound;
  verdict.error.checked = judged * columns * kColors;
  int64_t wrong = 0;
  double max_expected = 0;
  std::string first;
  for (const RowVerdict& row : verdicts) {
    verdict.error.max_abs = std::max(verdict.error.max_abs, row.max_abs);
    max_expected = std::max(max_expected, row.max_expected);
    if (wrong == 0) first = row.first;
    wrong += row.wrong;
  }
  verdict.error.max_rel = max_expected > 0 ? verdict.error.max_abs / max_expected : verdict.error.max_abs;
  const auto odd =
      std::find_if_not(output.begin(), output.end(), [](float value) { return std::isfinite(value); });
  if (wrong > 0) {
    verdict.reason =
        concat(wrong, " of ", verdict.error.checked, " values differ, first at ", first, ", allowed ", bound);
  } else if (odd != output.end()) {
    verdict.reason = concat("found ", *odd, " at ", odd - output.begin());
  }
  verdict.passed = verdict.reason.empty();
  return verdict;
}

Image FilterTask::image_of(TensorLayout layout, const std::vector<float>& output) const {
  const Conv2dProblem shape = problem(layout);
  Image image{shape.q(), shape.p(), static_cast<int>(kColors), {}, "PNG"};
  const int64_t pixels = int64_t{shape.p()} * shape.q();
  image.pixels.resize(static_cast<size_t>(pixels * kColors));
  parallel_for(pixels, kPixelsPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t color = 0; color < kColors; ++color) {
        const int64_t from = layout == TensorLayout::kNhwc ? i * kColors + color : color * pixels + i;
        image.pixels[static_cast<size_t>(i * kColors + color)] =
            byte_of(double{output[static_cast<size_t>(from)]});
      }
    }
  });
  return image;
}

ByteDifference difference_of(const Image& a, const Image& b) {
  constexpr const char* kNames[] = {"red", "green", "blue"};
  ByteDifference difference;
  if (a.pixels == b.pixels) return difference;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    const int by = std::abs(a.pixels[i] - b.pixels[i]);
    if (by == 0) continue;
    if (difference.count++ == 0) {
      const size_t pixel = i / static_cast<size_t>(kColors), width = static_cast<size_t>(a.width);
      difference.first =
          concat("at row ", pixel / width, ", column ", pixel % width, ", ",
                 kNames[i % static_cast<size_t>(kColors)], ": ", int{a.pixels[i]}, " and ", int{b.pixels[i]});
    }
    difference.largest = std::max(difference.largest, by);
  }
  return difference;
}

}  // namespace lenslet
