#include "layers/conv/conv_problem.h"

#include <climits>
#include <initializer_list>

#include "framework/base/error.h"

namespace lenslet {
namespace {

/// The input and the filters of a problem in one direction.
struct Axis {
  const char* name;  // "h" or "w", as in problem strings
  int64_t in;        // rows or columns of the input
  WindowDirection window;

  int64_t pad_after() const { return int64_t{window.pad} + window.more_pad; }
  int64_t padded() const { return in + window.pad + pad_after(); }
  int64_t extent() const { return window.reach() + 1; }  // of the filter
  /// floor((padded - extent) / stride) + 1; 0 if the filter does not fit.
  int64_t outputs() const {
    const int64_t room = padded() - extent();
    return room < 0 || window.stride < 1 ? 0 : room / window.stride + 1;
  }
};

Axis vertical(const Conv2dProblem& v) { return {"h", v.h, v.down()}; }
Axis horizontal(const Conv2dProblem& v) { return {"w", v.w, v.across()}; }

int clamp_to_int(int64_t value) { return static_cast<int>(value > INT_MAX ? INT_MAX : value); }

void check_range(const char* option, int value, int lowest) {
  if (value < lowest) {
    throw UsageError(concat(option, " must be an integer from ", lowest, " to ", INT_MAX, ", found ", value));
  }
}

void check_filter_fits(const Axis& axis) {
  if (axis.extent() > axis.padded()) {
    throw UsageError(concat("the filter does not fit: k", axis.name, "=", axis.window.size, " spans ",
                            axis.extent(), " with dilation, the padded input i", axis.name, " is ",
                            axis.padded(), " (", axis.in, " + ", axis.window.pad, " + ", axis.pad_after(),
                            "); the output would have size ", axis.padded() - axis.extent() + 1));
  }
}

/// As in benchdnn, the output may leave out as many rows or columns of the input as one stride.
void check_padding_after(const Axis& axis) {
  if (axis.pad_after() < -axis.window.stride) {
    throw UsageError(concat("the padding after the input must be at least -s", axis.name, " = -",
                            axis.window.stride, ", found ", axis.pad_after()));
  }
}

void check_element_count(const char* what, const char* sizes, std::initializer_list<int> dims) {
  int64_t product = 1;
  for (int dim : dims) {
    // Every factor is below 2^31, so this cannot overflow before the comparison stops it.
    product *= dim;
    if (product > INT_MAX) {
      std::string found;
      for (const int size : dims) found += concat(found.empty() ? "" : "*", size);
      throw UsageError(concat("the ", what, " (", sizes, ") has 2^31 elements or more, found ", found,
                              "; make it smaller than ", int64_t{INT_MAX} + 1));
    }
  }
}

std::string text_of(const Conv2dProblem& problem, bool in_full) {
  // A width is written only if it differs from the height, and a pair only if it is not the default. With asymmetric
  // padding output and padding are written in full, because the padding after follows from them.
  const bool padding = in_full || problem.asymmetric();
  std::string text = problem.groups == 1 ? "" : concat("g", problem.groups);
  const auto pair = [&](const char* height_key, int height, const char* width_key, int width,
                        bool both = false) {
    text += concat(height_key, height);
    if (in_full || both || width != height) text += concat(width_key, width);
  };
  text += concat("mb", problem.n, "ic", problem.c);
  pair("ih", problem.h, "iw", problem.w);
  text += concat("oc", problem.k);
  pair("oh", problem.p(), "ow", problem.q(), padding);
  pair("kh", problem.r, "kw", problem.s);
  if (problem.stride_h != 1 || problem.stride_w != 1) pair("sh", problem.stride_h, "sw", problem.stride_w);
  if (problem.pad_h != 0 || problem.pad_w != 0 || padding)
    pair("ph", problem.pad_h, "pw", problem.pad_w, padding);
  if (problem.dilation_h != 1 || problem.dilation_w != 1)
    pair("dh", problem.dilation_h - 1, "dw", problem.dilation_w - 1);
  if (!problem.name.empty()) text += concat("n\"", problem.name, "\"");
  return text;
}

}  // namespace

const char* to_string(TensorLayout layout) noexcept {
  return layout == TensorLayout::kNchw ? "NCHW" : "NHWC";
}

int Conv2dProblem::p() const noexcept { return clamp_to_int(vertical(*this).outputs()); }
int Conv2dProblem::q() const noexcept { return clamp_to_int(horizontal(*this).outputs()); }

double Conv2dProblem::flops() const noexcept {
  if (groups < 1) return 0;
  return 2.0 * n * k * p() * q() * (c / groups) * r * s;
}

double Conv2dProblem::values_read() const noexcept {
  return 1.0 * n * c * static_cast<double>(down().cells_read(h, p())) *
         static_cast<double>(across().cells_read(w, q()));
}

double Conv2dProblem::bytes() const noexcept {
  if (groups < 1) return 0;
  const double weights = 1.0 * k * (c / groups) * r * s;
  const double output = 1.0 * n * k * p() * q();
  return type.bits() / 8.0 * (values_read() + weights + output) + sizeof(float) * 1.0 * k;
}

void Conv2dProblem::check() const {
  check_range("mb (batch)", n, 1);
  check_range("ic (input channels)", c, 1);
  check_range("ih (input height)", h, 1);
  check_range("iw (input width)", w, 1);
  check_range("oc (output channels)", k, 1);
  check_range("kh (filter height)", r, 1);
  check_range("kw (filter width)", s, 1);
  check_range("sh (stride)", stride_h, 1);
  check_range("sw (stride)", stride_w, 1);
  check_range("ph (padding)", pad_h, 0);
  check_range("pw (padding)", pad_w, 0);
  check_range("dilation height", dilation_h, 1);
  check_range("dilation width", dilation_w, 1);
  check_range("g (groups)", groups, 1);
  if (c % groups != 0 || k % groups != 0) {
    throw UsageError(concat("g (groups) must divide ic and oc, found g=", groups, ", ic=", c, ", oc=", k));
  }
  for (const Axis& axis : {vertical(*this), horizontal(*this)}) check_padding_after(axis);
  for (const Axis& axis : {vertical(*this), horizontal(*this)}) check_filter_fits(axis);
  check_element_count("input", "mb*ic*ih*iw", {n, c, h, w});
  check_element_count("weight tensor", "oc*ic/g*kh*kw", {k, c / groups, r, s});
  check_element_count("output", "mb*oc*oh*ow", {n, k, p(), q()});
  // Index arithmetic inside the padded input must also fit into int.
  const int64_t rows = vertical(*this).padded(), columns = horizontal(*this).padded();
  if (rows > INT_MAX || columns > INT_MAX) {
    throw UsageError(
        concat("the padded input must be smaller than 2^31 in each direction, found ", rows, " x ", columns));
  }
}

std::string Conv2dProblem::to_string() const { return text_of(*this, false); }
std::string Conv2dProblem::to_benchdnn() const { return text_of(*this, true); }

bool operator==(const Conv2dProblem& a, const Conv2dProblem& b) noexcept {
  return a.n == b.n && a.c == b.c && a.h == b.h && a.w == b.w && a.k == b.k && a.r == b.r && a.s == b.s &&
         a.stride_h == b.stride_h && a.stride_w == b.stride_w && a.pad_h == b.pad_h && a.pad_w == b.pad_w &&
         a.more_pad_h == b.more_pad_h && a.more_pad_w == b.more_pad_w && a.dilation_h == b.dilation_h &&
         a.dilation_w == b.dilation_w && a.groups == b.groups && a.layout == b.layout && a.type == b.type;
}

}  // namespace lenslet
