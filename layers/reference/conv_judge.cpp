#include "layers/reference/conv_judge.h"

#include <algorithm>
#include <cmath>

#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/parallel.h"
#include "framework/tensor/stored_floats.h"
#include "layers/reference/choose_outputs.h"

namespace lenslet {
namespace {

using reference::Fill;

// Outputs that are judged of a problem with so many terms that the limit of multiply-adds would leave fewer, or none.
// Enough for both ends, 8 pairs at the edges of planes, and places within. Chosen by hand.
constexpr int64_t kMinOutputs = 64;
// Outputs of one range. Chosen by hand: a shorter range of short sums takes less time than to wake a thread.
constexpr int64_t kGrainOutputs = 256;

std::vector<float> input_of(Fill fill, size_t images, size_t image_size, uint64_t seed) {
  if (fill == Fill::kIntegers) return reference::small_integers(images * image_size, seed);
  if (fill == Fill::kOneHot) return reference::one_hot(images, image_size, seed);
  if (fill == Fill::kNormal) return reference::normal_values(images * image_size, seed);
  return reference::uniform_values(images * image_size, seed);
}

std::vector<float> coefficients_of(Fill fill, size_t count, uint64_t seed, ElementType type) {
  if (fill == Fill::kIntegers) return reference::small_integers(count, seed);
  if (fill == Fill::kOneHot) {
    constexpr int kBf16Period = 251;  // a prime below 2^8: all are exact in bf16
    return type == ElementType::kBf16 ? reference::distinct_integers(count, seed, kBf16Period)
                                      : reference::distinct_integers(count, seed);
  }
  if (fill == Fill::kNormal) return reference::normal_values(count, seed);
  return reference::uniform_values(count, seed);
}

// out[n][inner][outer] = in[n][outer][inner]
std::vector<float> swap_inner(const std::vector<float>& values, int64_t images, int64_t outer,
                              int64_t inner) {
  constexpr int64_t kBlock = 4096;  // values between two looks at the stop flag: some microseconds
  std::vector<float> swapped(values.size());
  parallel_for(images * inner, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i % kBlock == 0) throw_if_stopped("computing the reference");
      const int64_t n = i / inner, place = i % inner;
      for (int64_t o = 0; o < outer; ++o) {
        swapped[static_cast<size_t>(i * outer + o)] =
            values[static_cast<size_t>((n * outer + o) * inner + place)];
      }
    }
  });
  return swapped;
}

}  // namespace

reference::PoolWindow reference_window(const Pool2dWindow& w) {
  reference::PoolWindow v;
  v.r = w.r;
  v.s = w.s;
  v.stride_h = w.stride_h;
  v.stride_w = w.stride_w;
  v.pad_h = w.pad_h;
  v.pad_w = w.pad_w;
  v.more_pad_h = w.more_pad_h;
  v.more_pad_w = w.more_pad_w;
  v.dilation_h = w.dilation_h;
  v.dilation_w = w.dilation_w;
  v.ceil = w.ceil;
  return v;
}

std::vector<float> nchw_to_nhwc(const std::vector<float>& values, const Shape& shape) {
  return swap_inner(values, shape[0], shape[1], shape[2] * shape[3]);
}

std::vector<float> nhwc_to_nchw(const std::vector<float>& values, const Shape& shape) {
  return swap_inner(values, shape[0], shape[2] * shape[3], shape[1]);
}

ConvJudge::ConvJudge(const Conv2dProblem& problem, Fill fill, uint64_t seed, int64_t max_reference_macs,
                     const std::optional<Pool2dWindow>& max_pool, const ConvEnds& ends)
    : problem_(problem),
      ends_(problem.type == ElementType::kFp32 ? ends : ConvEnds{problem.type, problem.type}),
      fill_(fill),
      max_reference_macs_(max_reference_macs),
      window_(reference_window(max_pool.value_or(Pool2dWindow::square(1, 1)))) {
  problem_.check();
  conv_rows_ = reference::output_rows(problem);
  conv_columns_ = reference::output_columns(problem);
  rows_ = reference::pooled_rows(conv_rows_, window_);
  columns_ = reference::pooled_columns(conv_columns_, window_);
  const auto weight_count = static_cast<size_t>(problem.weight_shape().num_elements());
  const auto filters = static_cast<size_t>(problem.k);
  weights_ = coefficients_of(fill, weight_count, seed + 1, problem.type);
  bias_ = coefficients_of(fill, filters, seed + 2, problem.type);
  round_to(problem.type, weights_);
  round_to(problem.type, bias_);
  const size_t filter_size = weight_count / filters;
  for (size_t k = 0; k < filters; ++k) {
    double sum = 0;
    for (size_t i = 0; i < filter_size; ++i) sum += std::fabs(double{weights_[k * filter_size + i]});
    filter_sum_.push_back(sum);
  }
}

std::string ConvJudge::size_error() const {
  if (problem_.p() == conv_rows_ && problem_.q() == conv_columns_) return {};
  return concat("output size ", problem_.p(), "x", problem_.q(), ", the reference counts ", conv_rows_, "x",
                conv_columns_);
}

reference::Term ConvJudge::term_at(const float* x, const reference::OutputPlace& y) const {
  const int64_t top = y.p * window_.stride_h - window_.pad_h, left = y.q * window_.stride_w - window_.pad_w;
  reference::Term largest{-INFINITY, 0};
  for (int64_t p = std::max<int64_t>(top, 0); p < std::min(top + window_.r, conv_rows_); ++p) {
    for (int64_t q = std::max<int64_t>(left, 0); q < std::min(left + window_.s, conv_columns_); ++q) {
      const reference::Term term = reference::conv2d_at(problem_, x, weights_.data(), {y.n, y.k, p, q});
      largest.value = std::max(largest.value, term.value);
      largest.magnitude = std::max(largest.magnitude, term.magnitude);
    }
  }
  return largest;
}

ConvCase ConvJudge::make_case(uint64_t seed) const {
  const auto images = static_cast<size_t>(problem_.n);
  const size_t image_size = static_cast<size_t>(problem_.input_shape().num_elements()) / images;
  ConvCase data = answers_to(input_of(fill_, images, image_size, seed), seed);
  if (problem_.layout == TensorLayout::kNhwc) data.x = nchw_to_nhwc(data.x, problem_.input_shape());
  return data;
}

ConvCase ConvJudge::case_of(std::vector<float> x, uint64_t seed) const {
  if (problem_.layout == TensorLayout::kNchw) return answers_to(std::move(x), seed);
  ConvCase data = answers_to(nhwc_to_nchw(x, problem_.input_shape()), seed);
  data.x = std::move(x);
  return data;
}

ConvJudge ConvJudge::in_nhwc() const {
  ConvJudge judge = *this;
  judge.problem_.layout = TensorLayout::kNhwc;
  return judge;
}

ConvCase ConvJudge::in_nhwc(const ConvCase& data) const {
  ConvCase same = data;
  same.x = nchw_to_nhwc(data.x, problem_.input_shape());
  const int64_t pixels = rows_ * columns_;
  for (ConvCase::Sample& sample : same.samples)
    sample.index = (sample.n * pixels + sample.index % pixels) * problem_.k + sample.k;
  return same;
}

ConvCase ConvJudge::answers_to(std::vector<float> x, uint64_t seed) const {
  const auto images = static_cast<size_t>(problem_.n);
  const size_t image_size = x.size() / images;
  ConvCase data;
  data.fill = fill_;
  data.x = std::move(x);
  round_to(ends_.x, data.x);
  data.image_maximum.resize(images);
  parallel_for(static_cast<int64_t>(images), 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      throw_if_stopped("computing the reference");
      const float* image = data.x.data() + static_cast<size_t>(n) * image_size;
      float largest = 0;
      for (size_t i = 0; i < image_size; ++i) largest = std::max(largest, std::fabs(image[i]));
      data.image_maximum[static_cast<size_t>(n)] = largest;
    }
  });

  const int64_t terms = conv_terms(problem_) * window_.r * window_.s;
  const int64_t wanted = std::max(max_reference_macs_ / terms, kMinOutputs);
  const std::vector<int64_t> chosen =
      reference::choose_outputs({int64_t{problem_.n} * problem_.k, rows_, columns_}, wanted, seed + 3);
  data.samples.resize(chosen.size());
  const int64_t pixels = rows_ * columns_;
  parallel_for(static_cast<int64_t>(chosen.size()), kGrainOutputs, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ConvCase::Sample& sample = data.samples[static_cast<size_t>(i)];
      const int64_t index = chosen[static_cast<size_t>(i)];
      const int64_t plane = index / pixels, place = index % pixels;
      sample.n = plane / problem_.k;
      sample.k = plane % problem_.k;
      sample.index = problem_.layout == TensorLayout::kNchw
                         ? index
                         : (sample.n * pixels + place) * problem_.k + sample.k;
      sample.term = term_at(data.x.data(), {sample.n, sample.k, place / columns_, place % columns_});
    }
  });
  return data;
}

reference::Comparison ConvJudge::compare(const ConvCase& data, const std::vector<float>& y,
                                         const ConvAccuracy& accuracy, bool bias,
                                         const Rectifier& after) const {
  const double factor = accuracy.factor(conv_terms(problem_));
  const bool integers = data.fill == Fill::kIntegers || data.fill == Fill::kOneHot;
  const bool exact = accuracy.exact_on_integers && integers;
  const bool rounds = ends_.y != ElementType::kFp32;  // types compare by name: not for each output
  const StoringError storing = storing_error(ends_.y);
  reference::Comparison comparison;
  for (const ConvCase::Sample& sample : data.samples) {
    const auto k = static_cast<size_t>(sample.k);
    const double offset = bias ? double{bias_[k]} : 0;
    const double magnitude = accuracy.by_image_maximum
                                 ? data.image_maximum[static_cast<size_t>(sample.n)] * filter_sum_[k]
                                 : sample.term.magnitude;
    double expected = reference::rectified(sample.term.value + offset, after.slope, after.ceiling);
    double bound = exact ? 0 : factor * (magnitude + std::fabs(offset));
    if (exact) {  // an integer below 2^24
      if (rounds) expected = rounded_to(ends_.y, static_cast<float>(expected));
    } else {
      // A rounding of the result, or of a sum on the way to it, whose size the magnitude limits.
      const double largest = accuracy.storings > 1 ? magnitude + std::fabs(offset) : std::fabs(expected);
      bound += accuracy.storings * (storing.relative * (largest + bound) + storing.absolute);
    }
    comparison.add(sample.index, y[static_cast<size_t>(sample.index)], expected, bound);
  }
  return comparison;
}

}  // namespace lenslet
