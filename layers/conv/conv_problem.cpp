#include "layers/conv/conv_problem.h"

#include <climits>
#include <map>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

/// floor((in + 2 * pad - (dilation * (kernel - 1) + 1)) / stride) + 1, in 64 bits; 0 if the kernel does not fit.
int64_t output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  const int64_t room = in + 2 * pad - (dilation * (kernel - 1) + 1);
  if (room < 0 || stride < 1) return 0;
  return room / stride + 1;
}

int clamp_to_int(int64_t value) { return static_cast<int>(value > INT_MAX ? INT_MAX : value); }

void check_range(const char* option, int value, int lowest) {
  if (value < lowest) {
    throw UsageError(concat(option, " must be an integer from ", lowest, " to ", INT_MAX, ", found ", value));
  }
}

void check_fits(const char* axis, int in, int kernel, int pad, int dilation) {
  const int64_t padded = int64_t{in} + 2 * int64_t{pad};
  const int64_t extent = int64_t{dilation} * (int64_t{kernel} - 1) + 1;
  if (extent > padded) {
    throw UsageError(concat("the kernel does not fit: k", axis, "=", kernel, " spans ", extent,
                            " with dilation, the padded input i", axis, " is ", padded, " (", in, " + 2*",
                            pad, "); the output would have size ", padded - extent + 1));
  }
}

void check_count(const char* what, const char* sizes, std::initializer_list<int> dims) {
  int64_t product = 1;
  for (int dim : dims) {
    // Every factor is below 2^31, so this cannot overflow before the comparison stops it.
    product *= dim;
    if (product > INT_MAX) {
      throw UsageError(concat("the ", what, " (", sizes, ") has 2^31 elements or more; make it smaller than ",
                              int64_t{INT_MAX} + 1));
    }
  }
}

/// Cursor over a problem string.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool at_end() const { return pos_ == text_.size(); }
  std::string_view key() {
    const size_t begin = pos_;
    while (pos_ < text_.size() && text_[pos_] >= 'a' && text_[pos_] <= 'z') ++pos_;
    return text_.substr(begin, pos_ - begin);
  }
  /// Decimal digits only: `0x10`, `1e3` and `-1` are refused.
  int number(std::string_view key, int lowest) {
    const size_t begin = pos_;
    int64_t value = 0;
    while (pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9') {
      if (value <= INT_MAX) value = value * 10 + (text_[pos_] - '0');
      ++pos_;
    }
    const bool empty = pos_ == begin;
    const bool junk = follows_junk();
    if (empty || junk || value < lowest || value > INT_MAX) {
      size_t end = pos_;
      // Quote everything that looks like part of the number: "0x10", "1e3", "-1", "2.5".
      while (end < text_.size() &&
             std::string_view("0123456789xXeE.,+-").find(text_[end]) != std::string_view::npos)
        ++end;
      throw UsageError(concat(key, " must be a decimal integer from ", lowest, " to ", INT_MAX, ", found '",
                              printable_excerpt(text_.substr(begin, end - begin)), "' in problem '",
                              printable_excerpt(text_), "'"));
    }
    return static_cast<int>(value);
  }
  /// The rest of the text, without quotes.
  std::string name() {
    std::string_view rest = text_.substr(pos_);
    pos_ = text_.size();
    if (rest.size() >= 2 && rest.front() == '"' && rest.back() == '"') rest = rest.substr(1, rest.size() - 2);
    for (char c : rest) {
      if (c == '"' || static_cast<unsigned char>(c) <= ' ') {
        throw UsageError(concat("the name of a problem is one word, quoted or not, found '",
                                printable_excerpt(rest), "'"));
      }
    }
    if (rest.empty())
      throw UsageError(concat("n needs a name after it in problem '", printable_excerpt(text_), "'"));
    return std::string(rest);
  }

 private:
  /// After the digits comes the end or a key; no key begins with x or e.
  bool follows_junk() const {
    if (at_end()) return false;
    const char next = text_[pos_];
    return next == 'x' || next == 'e' || next < 'a' || next > 'z';
  }
  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

const char* to_string(TensorLayout layout) noexcept {
  return layout == TensorLayout::kNchw ? "NCHW" : "NHWC";
}

int Conv2dProblem::p() const noexcept { return clamp_to_int(output_size(h, r, stride_h, pad_h, dilation_h)); }
int Conv2dProblem::q() const noexcept { return clamp_to_int(output_size(w, s, stride_w, pad_w, dilation_w)); }

double Conv2dProblem::flops() const noexcept {
  if (groups < 1) return 0;
  return 2.0 * n * k * p() * q() * (c / groups) * r * s;
}

double Conv2dProblem::bytes() const noexcept {
  if (groups < 1) return 0;
  const double input = 1.0 * n * c * h * w;
  const double weights = 1.0 * k * (c / groups) * r * s;
  const double output = 1.0 * n * k * p() * q();
  return sizeof(float) * (input + weights + k + output);
}

void Conv2dProblem::validate() const {
  check_range("mb (batch)", n, 1);
  check_range("ic (input channels)", c, 1);
  check_range("ih (input height)", h, 1);
  check_range("iw (input width)", w, 1);
  check_range("oc (output channels)", k, 1);
  check_range("kh (kernel height)", r, 1);
  check_range("kw (kernel width)", s, 1);
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
  check_fits("h", h, r, pad_h, dilation_h);
  check_fits("w", w, s, pad_w, dilation_w);
  check_count("input", "mb*ic*ih*iw", {n, c, h, w});
  check_count("weight tensor", "oc*ic/g*kh*kw", {k, c / groups, r, s});
  check_count("output", "mb*oc*oh*ow", {n, k, p(), q()});
  // Index arithmetic inside the padded input must also fit into int.
  if (int64_t{h} + 2 * int64_t{pad_h} > INT_MAX || int64_t{w} + 2 * int64_t{pad_w} > INT_MAX) {
    throw UsageError(concat("the padded input must be smaller than 2^31 in each direction, found ",
                            int64_t{h} + 2 * int64_t{pad_h}, " x ", int64_t{w} + 2 * int64_t{pad_w}));
  }
}

std::string Conv2dProblem::to_string() const {
  // A width is written only if it differs from the height, and a pair only if it is not the default.
  std::string text = groups == 1 ? "" : concat("g", groups);
  const auto pair = [&text](const char* height_key, int height, const char* width_key, int width) {
    text += concat(height_key, height);
    if (width != height) text += concat(width_key, width);
  };
  text += concat("mb", n, "ic", c);
  pair("ih", h, "iw", w);
  text += concat("oc", k);
  pair("oh", p(), "ow", q());
  pair("kh", r, "kw", s);
  if (stride_h != 1 || stride_w != 1) pair("sh", stride_h, "sw", stride_w);
  if (pad_h != 0 || pad_w != 0) pair("ph", pad_h, "pw", pad_w);
  if (dilation_h != 1 || dilation_w != 1) pair("dh", dilation_h - 1, "dw", dilation_w - 1);
  if (!name.empty()) text += concat("n\"", name, "\"");
  return text;
}

Conv2dProblem Conv2dProblem::parse(std::string_view text) {
  // The lowest legal value of each key; `dh` counts from 0 (dense).
  static const std::map<std::string_view, int> kLowest = {
      {"g", 1},  {"mb", 1}, {"ic", 1}, {"ih", 1}, {"iw", 1}, {"oc", 1}, {"oh", 1}, {"ow", 1},
      {"kh", 1}, {"kw", 1}, {"sh", 1}, {"sw", 1}, {"ph", 0}, {"pw", 0}, {"dh", 0}, {"dw", 0}};
  std::map<std::string_view, int> values;
  Conv2dProblem problem;
  Reader reader(text);
  while (!reader.at_end()) {
    const std::string_view key = reader.key();
    if (!key.empty() && key.front() == 'n') {
      // An unquoted name begins right after the n: take it as the whole rest.
      reader = Reader(text.substr(static_cast<size_t>(key.data() - text.data()) + 1));
      problem.name = reader.name();
      break;
    }
    const auto known = kLowest.find(key);
    if (known == kLowest.end()) {
      throw UsageError(concat("problem '", printable_excerpt(text), "': '",
                              printable_excerpt(key.empty() ? text : key),
                              "' is none of g mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw n"));
    }
    const int value = reader.number(key, known->second);
    if (!values.emplace(key, value).second)
      throw UsageError(concat("problem '", printable_excerpt(text), "' gives ", key, " twice"));
  }
  const auto required = [&](const char* key) {
    const auto found = values.find(key);
    if (found == values.end()) {
      throw UsageError(
          concat("problem '", printable_excerpt(text), "' lacks ", key, "; ic, ih, oc and kh are required"));
    }
    return found->second;
  };
  const auto optional = [&](const char* key, int otherwise) {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  };
  problem.groups = optional("g", 1);
  problem.n = optional("mb", 1);
  problem.c = required("ic");
  problem.h = required("ih");
  problem.w = optional("iw", problem.h);
  problem.k = required("oc");
  problem.r = required("kh");
  problem.s = optional("kw", problem.r);
  problem.stride_h = optional("sh", 1);
  problem.stride_w = optional("sw", problem.stride_h);
  problem.pad_h = optional("ph", 0);
  problem.pad_w = optional("pw", problem.pad_h);
  problem.dilation_h = clamp_to_int(int64_t{optional("dh", 0)} + 1);
  problem.dilation_w = clamp_to_int(int64_t{optional("dw", problem.dilation_h - 1)} + 1);
  problem.validate();
  const auto check_output = [&](const char* key, int computed, int given) {
    if (given != computed) {
      throw UsageError(concat("problem '", printable_excerpt(text), "': ", key, "=", given,
                              ", but its input, kernel, stride, padding and ", "dilation give ", computed));
    }
  };
  check_output("oh", problem.p(), optional("oh", problem.p()));
  check_output("ow", problem.q(), optional("ow", problem.q()));
  return problem;
}

bool operator==(const Conv2dProblem& a, const Conv2dProblem& b) noexcept {
  return a.n == b.n && a.c == b.c && a.h == b.h && a.w == b.w && a.k == b.k && a.r == b.r && a.s == b.s &&
         a.stride_h == b.stride_h && a.stride_w == b.stride_w && a.pad_h == b.pad_h && a.pad_w == b.pad_w &&
         a.dilation_h == b.dilation_h && a.dilation_w == b.dilation_w && a.groups == b.groups &&
         a.layout == b.layout;
}

}  // namespace lenslet
