// The parser of problem strings: fields, then what missing fields mean, then the padding that oh and ow decide.
#include <algorithm>
#include <climits>
#include <map>
#include <optional>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {
namespace {

constexpr const char* kKeys = "g mb ic id ih iw oc od oh ow kd kh kw sd sh sw pd ph pw dd dh dw n";

using Values = std::map<std::string_view, int>;

/// Cursor over a problem string.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  /// Skips what may stand between fields.
  bool at_end() {
    while (pos_ < text_.size() && text_[pos_] == '_') ++pos_;
    return pos_ == text_.size();
  }
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
    if (empty || follows_junk() || value < lowest || value > INT_MAX) {
      size_t end = pos_;  // quotes up to the next field: "0x10", "1e3", "-1", "2.5", "1 "
      while (end < text_.size() && !ends_field(text_[end])) ++end;
      throw UsageError(concat(key, " must be a decimal integer from ", lowest, " to ", INT_MAX, ", found '",
                              printable_excerpt(text_.substr(begin, end - begin)), "' in problem '",
                              printable_excerpt(text_), "'"));
    }
    return static_cast<int>(value);
  }

 private:
  /// `_`, or the first letter of a key; no key begins with x or e.
  static bool ends_field(char next) {
    return next == '_' || (next >= 'a' && next <= 'z' && next != 'x' && next != 'e');
  }
  bool follows_junk() const { return pos_ < text_.size() && !ends_field(text_[pos_]); }
  std::string_view text_;
  size_t pos_ = 0;
};

constexpr size_t kMaxName = 1000;  // bytes as printed; every problem of a list with many batches repeats it

std::string name_within_limit(std::string_view name, std::string_view problem) {
  std::string printed = printable(name);
  if (printed.size() <= kMaxName) return printed;
  throw UsageError(concat("the name of problem '", printable_excerpt(problem), "' has ", printed.size(),
                          " bytes, expected at most ", kMaxName));
}

/// What follows the n of `problem`: in quotes any characters but the quote itself, else one word.
std::string name_of(std::string_view rest, std::string_view problem) {
  if (!rest.empty() && rest.front() == '"') {
    const size_t close = rest.find('"', 1);
    if (close == std::string_view::npos)
      throw UsageError(
          concat("the name lacks its closing quote in problem '", printable_excerpt(problem), "'"));
    if (close + 1 != rest.size()) {
      throw UsageError(concat("a name ends problem '", printable_excerpt(problem), "', found '",
                              printable_excerpt(rest.substr(close + 1)), "' after it"));
    }
    return name_within_limit(rest.substr(1, close - 1), problem);
  }
  const bool one_word = std::none_of(rest.begin(), rest.end(),
                                     [](char c) { return c == '"' || static_cast<unsigned char>(c) <= ' '; });
  if (one_word) return name_within_limit(rest, problem);
  throw UsageError(concat("a name without quotes is one word, found '", printable_excerpt(rest), "'"));
}

struct Fields {
  Values values;
  std::string name;
};

Fields read_fields(std::string_view text) {
  // The lowest legal value of each key; `dh` counts from 0 (dense).
  static const Values kMinValues = {{"g", 1},  {"mb", 1}, {"ic", 1}, {"id", 1}, {"ih", 1}, {"iw", 1},
                                    {"oc", 1}, {"od", 1}, {"oh", 1}, {"ow", 1}, {"kd", 1}, {"kh", 1},
                                    {"kw", 1}, {"sd", 1}, {"sh", 1}, {"sw", 1}, {"pd", 0}, {"ph", 0},
                                    {"pw", 0}, {"dd", 0}, {"dh", 0}, {"dw", 0}};
  Fields fields;
  Reader reader(text);
  while (!reader.at_end()) {
    const std::string_view key = reader.key();
    if (!key.empty() && key.front() == 'n') {
      fields.name = name_of(text.substr(static_cast<size_t>(key.data() - text.data()) + 1), text);
      break;
    }
    const auto known = kMinValues.find(key);
    if (known == kMinValues.end()) {
      throw UsageError(concat("problem '", printable_excerpt(text), "': '",
                              printable_excerpt(key.empty() ? text : key), "' is none of ", kKeys));
    }
    const int value = reader.number(key, known->second);
    const int first = fields.values.emplace(key, value).first->second;
    if (first != value) {
      throw UsageError(
          concat("problem '", printable_excerpt(text), "' gives ", key, " twice, ", first, " and ", value));
    }
  }
  return fields;
}

/// The fields of one axis, as written: dilation counts from 0.
struct AxisFields {
  AxisFields(const Values& values, char letter) {
    const auto value = [&](char field) -> std::optional<int> {
      const char key[] = {field, letter};
      const auto found = values.find(std::string_view(key, 2));
      return found == values.end() ? std::nullopt : std::optional<int>(found->second);
    };
    in = value('i');
    out = value('o');
    filter = value('k');
    stride = value('s');
    pad = value('p');
    dilation = value('d');
  }
  /// Whether it has no size, and nothing that one cell without padding would not have.
  bool absent() const {
    return !in && !out && !filter && stride.value_or(1) == 1 && pad.value_or(0) == 0 &&
           dilation.value_or(0) == 0;
  }
  bool given() const { return in || out || filter || stride || pad || dilation; }
  /// Whether the sum over this axis has one term: a depth of 1 makes a 3-D convolution a 2-D one.
  bool is_single() const {
    return in.value_or(0) == 1 && filter.value_or(0) == 1 && out.value_or(1) == 1 && pad.value_or(0) == 0;
  }
  void make_single() {
    in = out = filter = stride = 1;
    pad = dilation = 0;
  }
  /// Padding only if the axes are the same; else resolve() decides it.
  void copy_missing(const AxisFields& other) {
    for (const auto field :
         {&AxisFields::in, &AxisFields::filter, &AxisFields::stride, &AxisFields::dilation}) {
      if (!(this->*field)) this->*field = other.*field;
    }
    const bool same = in == other.in && filter == other.filter && stride == other.stride &&
                      dilation == other.dilation && (!pad || pad == other.pad);
    if (!same || out) return;
    out = other.out;
    pad = other.pad;
  }

  std::optional<int> in, out, filter, stride, pad, dilation;
};

/// Where an axis of the problem stands.
struct Place {
  int &in, &filter, &stride, &pad, &more_pad, &dilation;
};

/// Fills the axis:
/// 1. An axis without padding of its own takes that of the other axis, if that gives its output size.
/// 2. Else half of the zeros that the output needs go before the input, as in benchdnn.
/// 3. If the same padding at both ends does not give the output size, the padding at the end is changed.
void resolve(const AxisFields& axis, const AxisFields& other, const Place& to, char letter,
             std::string_view text) {
  to.in = axis.in.value_or(0);
  to.filter = axis.filter.value_or(0);
  to.stride = axis.stride.value_or(1);
  const int64_t dilation = int64_t{axis.dilation.value_or(0)} + 1;
  to.dilation = static_cast<int>(std::min<int64_t>(dilation, INT_MAX));
  const int64_t extent = dilation * (to.filter - 1) + 1;
  const auto outputs = [&](int pad) {
    const int64_t room = to.in + 2 * int64_t{pad} - extent;
    return room < 0 ? 0 : room / to.stride + 1;
  };
  const std::optional<int> pad = axis.pad ? axis.pad : other.pad;
  to.pad = pad.value_or(0);
  if (!axis.out || (pad && outputs(*pad) == *axis.out)) return;
  const int64_t needed = int64_t{*axis.out - 1} * to.stride + extent - to.in;  // before and after together
  if (!axis.pad) to.pad = static_cast<int>(std::clamp<int64_t>(needed / 2, 0, INT_MAX));
  if (outputs(to.pad) == *axis.out) return;
  const int64_t more = needed - 2 * int64_t{to.pad};
  if (to.pad + more < -int64_t{to.stride} || more > INT_MAX) {
    throw UsageError(concat("problem '", printable_excerpt(text), "': o", letter, "=", *axis.out,
                            ", but its input, filter, stride, padding and dilation give ", outputs(to.pad)));
  }
  to.more_pad = static_cast<int>(more);
}

}  // namespace

Conv2dProblem Conv2dProblem::parse(std::string_view text) {
  const Fields fields = read_fields(text);
  const auto value = [&](const char* key, int otherwise) {
    const auto found = fields.values.find(key);
    return found == fields.values.end() ? otherwise : found->second;
  };
  AxisFields d(fields.values, 'd'), h(fields.values, 'h'), w(fields.values, 'w');
  const bool volume = d.given() && !d.is_single();
  if (!volume) {
    if (h.absent() && w.in && w.filter) h.make_single();  // 1-D
    h.copy_missing(w);
    w.copy_missing(h);
  }
  Conv2dProblem problem;
  problem.name = fields.name;
  problem.groups = value("g", 1);
  problem.n = value("mb", 1);
  problem.c = value("ic", 0);
  problem.k = value("oc", 0);
  const AxisFields& outer = volume ? d : h;
  const char* missing = problem.c == 0   ? "ic"
                        : problem.k == 0 ? "oc"
                        : !outer.in      ? (volume ? "id" : "ih")
                        : !outer.filter  ? (volume ? "kd" : "kh")
                                         : nullptr;
  if (missing) {
    throw UsageError(concat("problem '", printable_excerpt(text), "' lacks ", missing,
                            "; ic, oc, ih or iw, and kh or kw are required"));
  }
  if (volume) throw UnavailableError("3-D convolution: Lenslet computes 2-D and 1-D convolutions");
  resolve(h, w,
          {problem.h, problem.r, problem.stride_h, problem.pad_h, problem.more_pad_h, problem.dilation_h},
          'h', text);
  resolve(w, h,
          {problem.w, problem.s, problem.stride_w, problem.pad_w, problem.more_pad_w, problem.dilation_w},
          'w', text);
  try {
    problem.check();
  } catch (const UsageError& error) {
    throw UsageError(concat("problem '", printable_excerpt(text), "': ", error.what()));
  }
  return problem;
}

}  // namespace lenslet
