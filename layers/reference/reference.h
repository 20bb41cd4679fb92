// The reference: every layer in plain fp64, written to be obviously correct. It shares no arithmetic with the layers:
// of them it includes only the sizes of Conv2dProblem.
//
// Each function finds its output size itself, that of a window by trial. It also returns the sum of the absolute
// values of the products of every output, from which error bounds are derived. All tensors are row-major NCHW in host
// memory. Long computations end with InterruptedError if stopped() (framework/base/interruption.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/tensor/shape.h"
#include "layers/conv/conv_problem.h"

namespace lenslet::reference {

/// A layer's exact output.
struct Result {
  Shape shape;                 // of the output
  std::vector<double> values;  // in C order
  /// The sum of |term| per output, |bias| included; |value| for layers without sums.
  std::vector<double> magnitudes;
};

/// One output of a sum of products.
struct Term {
  double value = 0;      // the sum
  double magnitude = 0;  // the sum of |term|
};

/// Output rows by trial: the positions of the window inside the padded input are counted; 0 if none fits.
int64_t output_rows(const Conv2dProblem& problem);
/// Output columns, counted as the rows are.
int64_t output_columns(const Conv2dProblem& problem);

/// One output of [N, K, P, Q].
struct OutputPlace {
  int64_t n = 0, k = 0;  ///< Image and filter.
  int64_t p = 0, q = 0;  ///< Row and column.
};
/// y[n, k, p, q], without bias and ReLU. x [N, C, H, W], w [K, C/G, R, S].
Term conv2d_at(const Conv2dProblem& problem, const float* x, const float* w, const OutputPlace& y);
/// The whole convolution; bias [K] may be null.
Result conv2d(const Conv2dProblem& problem, const float* x, const float* w, const float* bias, bool relu);

/// The reference's own window, which shares no type with the layers.
struct PoolWindow {
  int r = 2, s = 2, stride_h = 2, stride_w = 2, pad_h = 0, pad_w = 0;  // as in Pool2dWindow
  int more_pad_h = 0, more_pad_w = 0, dilation_h = 1, dilation_w = 1;  // likewise
  bool ceil = false;                                                   // likewise
};
/// The windows of that many rows, counted as above.
int64_t pooled_rows(int64_t rows, const PoolWindow& window);
/// The windows of that many columns, counted as above.
int64_t pooled_columns(int64_t columns, const PoolWindow& window);
/// Padding never wins a maximum; a NaN in a window does.
Result max_pool2d(const Shape& input, const float* x, const PoolWindow& window);
/// `count_padding`: divide by the cells inside the padded input (PyTorch's count_include_pad), else by those inside the
/// input.
Result avg_pool2d(const Shape& input, const float* x, const PoolWindow& window, bool count_padding);

/// Max(x, 0); NaN stays.
Result relu(const Shape& input, const float* x);
/// y[n, o] = b[o] + sum over i of w[o, i] * x[n, i]; x [N, I] (any trailing dimensions are flattened), w [O, I].
Result linear(const Shape& input, const float* x, int64_t outputs, const float* w, const float* bias);
/// Over dimension `axis`, or the last one; or the logarithms.
Result softmax(const Shape& input, const float* x, int axis = -1, bool logarithms = false);
/// f(x; a, b) for every value; `function` as ActivationLayer names it, for example "leaky_relu". Magnitudes are sums of
/// the absolute values of the terms that f adds.
Result activation(const Shape& input, const float* x, const std::string& function, double a, double b);
/// x[c] / (bias + alpha / size * sum of squares)^beta over a window of `size` channels of [N, C, sizes].
Result lrn(const Shape& input, const float* x, int64_t size, double alpha, double beta, double bias);

/// Values with a shape, borrowed.
struct Operand {
  Shape shape;                    // outermost first
  const float* values = nullptr;  // in C order
};
/// f(a, b) with NumPy's broadcasting; `function` as PairwiseLayer names it, for example "add".
Result pairwise(const Operand& a, const Operand& b, const std::string& function);
/// Dimension i of the result is dimension order[i] of x.
Result transpose(const Operand& x, const std::vector<int>& order);
/// `value` around x; negative sizes cut.
Result pad(const Operand& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
           double value);
/// `dims` values from `starts` on, `steps` apart.
Result slice(const Operand& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& steps,
             const std::vector<int64_t>& dims);
/// One after another in dimension `axis`.
Result join(const std::vector<Operand>& parts, int axis);

/// min(x < 0 ? slope * x : x, ceiling).
double rectified(double x, double slope, double ceiling);

}  // namespace lenslet::reference
