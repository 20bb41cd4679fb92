// Conv2dProblem: the only type for the shape of a convolution.
//
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, g(k)*C/G + c, h, v]
//   h = p*stride_h - pad_h + r*dilation_h, v = q*stride_w - pad_w + s*dilation_w,
//   g(k) = the group of filter k
// x [N, C, H, W], w [K, C/G, R, S], b [K], y [N, K, P, Q]; `layout` is the order of x and y in memory, `type` that of
// the elements of x, w and y. b is fp32, and so are the sums. Cross-correlation, zero padding.
#pragma once

#include <string>
#include <string_view>

#include "framework/tensor/element_type.h"
#include "framework/tensor/math_mode.h"
#include "framework/tensor/shape.h"
#include "layers/window_direction.h"

namespace lenslet {

/// Order of a tensor's elements in memory, outermost first.
enum class TensorLayout {
  kNchw,  // the order of the framework
  kNhwc   // the order of pictures
};
/// "NCHW" or "NHWC".
const char* to_string(TensorLayout layout) noexcept;

struct Conv2dProblem {
  int n = 1, c = 0, h = 0, w = 0;      // input
  int k = 0, r = 0, s = 0;             // filters
  int stride_h = 1, stride_w = 1;      // from one output to the next, in input rows and columns
  int pad_h = 0, pad_w = 0;            // zeros before, and as many after
  int more_pad_h = 0, more_pad_w = 0;  // zeros after less those before, where padding is asymmetric
  int dilation_h = 1, dilation_w = 1;  // PyTorch's meaning: 1 = dense
  int groups = 1;                      // G; filters of a group read C/G channels
  /// Order of x and y; w is always [K, C/G, R, S]. Not part of the problem string.
  TensorLayout layout = TensorLayout::kNchw;
  /// The type of x, w and y: fp32, fp16 or bf16. y is rounded to nearest even. Not part of the problem string.
  ElementType type = ElementType::kFp32;
  std::string name;  // for output: printable text without a double quote; may be empty

  /// Output height; < 1 if the filter does not fit.
  int p() const noexcept;
  /// Output width; < 1 if the filter does not fit.
  int q() const noexcept;
  /// 2 * N * K * P * Q * (C/G) * R * S.
  double flops() const noexcept;
  /// The values of the input that at least one window reads: not all of them if a stride or a dilation skips rows or
  /// columns, or if the last window ends before the input.
  double values_read() const noexcept;
  /// The values read + weights + bias + output, each once: what every algorithm has to move.
  double bytes() const noexcept;
  /// [N, C, H, W] for either layout.
  Shape input_shape() const { return {n, c, h, w}; }
  /// [K, C/G, R, S].
  Shape weight_shape() const { return {k, c / groups, r, s}; }
  /// The size of a tensor of that shape in the problem's type.
  size_t bytes_of_tensor(const Shape& shape) const { return bytes_of(type, shape.num_elements()); }
  /// [N, K, P, Q] for either layout.
  Shape output_shape() const { return {n, k, p(), q()}; }

  /// The windows from row to row.
  WindowDirection down() const noexcept { return {r, stride_h, pad_h, more_pad_h, dilation_h}; }
  /// The windows from column to column.
  WindowDirection across() const noexcept { return {s, stride_w, pad_w, more_pad_w, dilation_w}; }

  /// Throws UsageError naming the option, its value and its legal range: sizes >= 1, C and K divisible by groups, the
  /// filter inside the padded input, every element count below 2^31.
  void check() const;

  /// Whether more or fewer zeros follow the input than precede it. A backend that cannot pad so refuses the problem
  /// (symmetric_padding of layers/conv/conv_limits.h).
  bool asymmetric() const noexcept { return more_pad_h != 0 || more_pad_w != 0; }

  /// Canonical benchdnn string, always with mb and without defaults: `mb1ic1ih28oc6oh24kh5n"conv1"`.
  /// `dh` is benchdnn's dilation (PyTorch's minus one).
  std::string to_string() const;
  /// The same problem with both directions and the padding written out: benchdnn copies no single field, and takes half
  /// of what the output needs for a padding that is not written.
  std::string to_benchdnn() const;
  /// Parses `[gG][mbN]icC ihH [iwW] ocK [ohP owQ] khR [kwS] [shX swY] [phA pwB] [dhD dwE] [nNAME]` in any order,
  /// with `_` between fields or not. docs/convbench.md explains what missing fields mean and how oh and ow decide the
  /// padding. Throws UsageError for a malformed or inconsistent string, UnavailableError for a 3-D convolution.
  static Conv2dProblem parse(std::string_view text);

  friend bool operator==(const Conv2dProblem& a, const Conv2dProblem& b) noexcept;  // ignores the name
};

/// The types of x and y in memory where they may differ from the problem's, which is fp32: a graph may store a tensor
/// between two layers as fp16.
struct ConvEnds {
  ElementType x = ElementType::kFp32;  // of the input
  ElementType y = ElementType::kFp32;  // of the output
  /// Whether both are fp32.
  bool fp32() const noexcept { return x == ElementType::kFp32 && y == ElementType::kFp32; }
};

/// The mode at whose rate tensor cores multiply the problem's operands: fp16 and bf16 tensors are multiplied as they
/// are, at one rate.
inline MathMode rate_of(ElementType type, MathMode math) {
  return type == ElementType::kFp32 ? math : MathMode::kFp16;
}

}  // namespace lenslet
