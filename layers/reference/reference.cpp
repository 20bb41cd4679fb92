#include "layers/reference/reference.h"

#include <algorithm>
#include <cmath>

#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/parallel.h"

namespace lenslet::reference {
namespace {

Result make_result(const Shape& shape) {
  const auto count = static_cast<size_t>(shape.num_elements());
  return {shape, std::vector<double>(count), std::vector<double>(count)};
}

void check_rank4(const Shape& input) {
  if (input.rank() != 4)
    throw DataError(concat("the reference pools [N, C, H, W], found ", input.to_string()));
}

/// Calls visit(output index, pointer to the image's plane, top, left) for every window; top and left may be negative.
template <typename Visit>
void for_each_window(const Shape& input, const float* x, const PoolWindow& window, const Shape& output,
                     Visit visit) {
  const int64_t planes = input[0] * input[1];
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t p = 0; p < output[2]; ++p) {
      for (int64_t q = 0; q < output[3]; ++q) {
        visit(static_cast<size_t>((plane * output[2] + p) * output[3] + q), x + plane * input[2] * input[3],
              p * window.stride_h - window.pad_h, q * window.stride_w - window.pad_w);
      }
    }
  }
}

Shape pooled_shape(const Shape& input, const PoolWindow& window) {
  return {input[0], input[1], pooled_rows(input[2], window), pooled_columns(input[3], window)};
}

struct Axis {
  int64_t in = 0, window = 1, stride = 1, dilation = 1;
  int64_t pad = 0, more_pad = 0;  // `pad + more_pad` zeros end the input
  bool ceil = false;              // also counts a window that begins inside the padded input and ends past it
};

// The rows of a Conv2dProblem or PoolWindow over an input of `in` rows.
template <typename Windows>
Axis down(int64_t in, const Windows& v) {
  Axis axis;
  axis.in = in;
  axis.window = v.r;
  axis.stride = v.stride_h;
  axis.dilation = v.dilation_h;
  axis.pad = v.pad_h;
  axis.more_pad = v.more_pad_h;
  return axis;
}

// Likewise the columns.
template <typename Windows>
Axis across(int64_t in, const Windows& v) {
  Axis axis;
  axis.in = in;
  axis.window = v.s;
  axis.stride = v.stride_w;
  axis.dilation = v.dilation_w;
  axis.pad = v.pad_w;
  axis.more_pad = v.more_pad_w;
  return axis;
}

int64_t count_positions(const Axis& v) {
  int64_t count = 0;
  // The last cell of the window at output `count` is at first + (window - 1) * dilation.
  const int64_t end = v.in + v.pad + v.more_pad;
  int64_t first = -v.pad;
  for (; first + (v.window - 1) * v.dilation < end; first += v.stride) ++count;
  const bool last_ends_before = count == 0 || first - v.stride + (v.window - 1) * v.dilation + 1 < end;
  return v.ceil && last_ends_before && first < v.in ? count + 1 : count;
}

}  // namespace

int64_t output_rows(const Conv2dProblem& v) { return count_positions(down(v.h, v)); }
int64_t output_columns(const Conv2dProblem& v) { return count_positions(across(v.w, v)); }
int64_t pooled_rows(int64_t rows, const PoolWindow& v) {
  Axis axis = down(rows, v);
  axis.ceil = v.ceil;
  return count_positions(axis);
}
int64_t pooled_columns(int64_t columns, const PoolWindow& v) {
  Axis axis = across(columns, v);
  axis.ceil = v.ceil;
  return count_positions(axis);
}

Term conv2d_at(const Conv2dProblem& problem, const float* x, const float* w, const OutputPlace& y) {
  throw_if_stopped("computing the reference");
  const int64_t channels = problem.c / problem.groups;  // of one group
  const int64_t first_channel = y.k / (problem.k / problem.groups) * channels;
  const int64_t plane = int64_t{problem.h} * problem.w, taps = int64_t{problem.r} * problem.s;
  // Four sums, each of every fourth channel: an addition waits for the one before it in its sum only.
  constexpr int kSums = 4;
  Term sums[kSums];
  for (int64_t r = 0; r < problem.r; ++r) {
    const int64_t row = y.p * problem.stride_h - problem.pad_h + r * problem.dilation_h;
    if (row < 0 || row >= problem.h) continue;
    for (int64_t s = 0; s < problem.s; ++s) {
      const int64_t column = y.q * problem.stride_w - problem.pad_w + s * problem.dilation_w;
      if (column < 0 || column >= problem.w) continue;
      const float* pixel = x + (y.n * problem.c + first_channel) * plane + row * problem.w + column;
      const float* weight = w + y.k * channels * taps + r * problem.s + s;
      const auto add = [&](Term& sum, int64_t c) {
        const double product = double{pixel[c * plane]} * double{weight[c * taps]};
        sum.value += product;
        sum.magnitude += std::fabs(product);
      };
      int64_t c = 0;
      for (; c + kSums <= channels; c += kSums) {
        for (int i = 0; i < kSums; ++i) add(sums[i], c + i);
      }
      for (; c < channels; ++c) add(sums[0], c);
    }
  }
  Term term;
  for (const Term& sum : sums) {
    term.value += sum.value;
    term.magnitude += sum.magnitude;
  }
  return term;
}

Result conv2d(const Conv2dProblem& problem, const float* x, const float* w, const float* bias, bool relu) {
  const int64_t rows = output_rows(problem), columns = output_columns(problem);
  Result result = make_result({problem.n, problem.k, rows, columns});
  parallel_for(int64_t{problem.n} * problem.k * rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t p = line % rows, k = line / rows % problem.k, n = line / rows / problem.k;
      for (int64_t q = 0; q < columns; ++q) {
        Term term = conv2d_at(problem, x, w, {n, k, p, q});
        if (bias) {
          term.value += bias[k];
          term.magnitude += std::fabs(double{bias[k]});
        }
        const auto index = static_cast<size_t>(line * columns + q);
        result.values[index] = relu ? std::max(term.value, 0.0) : term.value;
        result.magnitudes[index] = term.magnitude;
      }
    }
  });
  return result;
}

namespace {

// Calls visit(value, inside the input) for every cell of a window that lies inside the padded input.
template <typename Visit>
void for_each_cell(const Shape& input, const float* plane, const PoolWindow& v, int64_t top, int64_t left,
                   Visit visit) {
  for (int64_t r = 0; r < v.r; ++r) {
    for (int64_t s = 0; s < v.s; ++s) {
      const int64_t row = top + r * v.dilation_h, column = left + s * v.dilation_w;
      if (row >= input[2] + v.pad_h + v.more_pad_h || column >= input[3] + v.pad_w + v.more_pad_w) continue;
      const bool inside = row >= 0 && row < input[2] && column >= 0 && column < input[3];
      visit(inside ? double{plane[row * input[3] + column]} : 0.0, inside);
    }
  }
}

}  // namespace

Result max_pool2d(const Shape& input, const float* x, const PoolWindow& window) {
  check_rank4(input);
  const Shape output = pooled_shape(input, window);
  Result result = make_result(output);
  for_each_window(input, x, window, output, [&](size_t index, const float* plane, int64_t top, int64_t left) {
    double best = -INFINITY;
    for_each_cell(input, plane, window, top, left, [&](double value, bool inside) {
      if (inside && (value > best || std::isnan(value))) best = value;
    });
    result.values[index] = best;
    result.magnitudes[index] = std::fabs(best);
  });
  return result;
}

Result avg_pool2d(const Shape& input, const float* x, const PoolWindow& window, bool count_padding) {
  check_rank4(input);
  const Shape output = pooled_shape(input, window);
  Result result = make_result(output);
  for_each_window(input, x, window, output, [&](size_t index, const float* plane, int64_t top, int64_t left) {
    double sum = 0, magnitude = 0;
    int64_t cells = 0;
    for_each_cell(input, plane, window, top, left, [&](double value, bool inside) {
      sum += value;
      magnitude += std::fabs(value);
      cells += inside || count_padding;
    });
    result.values[index] = sum / static_cast<double>(cells);
    result.magnitudes[index] = magnitude / static_cast<double>(cells);
  });
  return result;
}

double rectified(double x, double slope, double ceiling) {
  return std::min(x < 0 ? (slope > 0 ? slope * x : 0.0) : x, ceiling);
}

Result relu(const Shape& input, const float* x) {
  Result result = make_result(input);
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = x[i] < 0 ? 0 : x[i];  // NaN is not below 0
    result.magnitudes[i] = std::fabs(double{x[i]});
  }
  return result;
}

Result linear(const Shape& input, const float* x, int64_t outputs, const float* w, const float* bias) {
  if (input.rank() < 2)
    throw DataError(concat("the reference's linear takes [N, I], found ", input.to_string()));
  int64_t inputs = 1;
  for (int i = 1; i < input.rank(); ++i) inputs *= input[i];
  Result result = make_result({input[0], outputs});
  parallel_for(input[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      throw_if_stopped("computing the reference");
      for (int64_t o = 0; o < outputs; ++o) {
        double sum = bias ? bias[o] : 0, magnitude = std::fabs(sum);
        for (int64_t i = 0; i < inputs; ++i) {
          const double product = double{x[n * inputs + i]} * double{w[o * inputs + i]};
          sum += product;
          magnitude += std::fabs(product);
        }
        result.values[static_cast<size_t>(n * outputs + o)] = sum;
        result.magnitudes[static_cast<size_t>(n * outputs + o)] = magnitude;
      }
    }
  });
  return result;
}

Result softmax(const Shape& input, const float* x, int axis, bool logarithms) {
  if (input.rank() < 1)
    throw DataError("the reference's softmax takes at least one dimension, found a scalar");
  Result result = make_result(input);
  const int64_t classes = input[axis];
  int64_t step = 1;
  for (int i = axis < 0 ? input.rank() : axis + 1; i < input.rank(); ++i) step *= input[i];
  for (int64_t row = 0; row < input.num_elements() / classes; ++row) {
    const int64_t begin = row / step * step * classes + row % step, end = begin + classes * step;
    double largest = -INFINITY, sum = 0;
    for (int64_t i = begin; i < end; i += step) largest = std::max(largest, double{x[i]});
    for (int64_t i = begin; i < end; i += step) sum += std::exp(double{x[i]} - largest);
    for (int64_t i = begin; i < end; i += step) {
      const double difference = double{x[i]} - largest;
      const auto at = static_cast<size_t>(i);
      result.values[at] = logarithms ? difference - std::log(sum) : std::exp(difference) / sum;
      result.magnitudes[at] =
          logarithms ? std::fabs(double{x[i]}) + std::fabs(largest) + std::log(sum) + 1 : result.values[at];
    }
  }
  return result;
}

}  // namespace lenslet::reference
