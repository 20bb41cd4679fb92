// Kinds of option values: each row of the option table has one, which describes what the option accepts.
//
// placeholder() is the text for --help. parse() is strict: 1e3, 0x10, +5 and 12x are not numbers. holds() checks the
// range of a value. show() prints a value so that parse() accepts it. suggestions() are words for completion.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/command_line/cli_description.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/picture.h"

namespace lenslet {

/// A decimal integer.
struct Integer {
  using Value = int64_t;
  int64_t min = 0, max = std::numeric_limits<int64_t>::max();

  std::string placeholder() const { return "N"; }
  /// Throws UsageError with the option, the text and the legal range, as every other kind does.
  Value parse(const std::string& option, const std::string& text) const;
  bool holds(Value value) const { return value >= min && value <= max; }
  std::string show(Value value) const { return std::to_string(value); }
  Suggestions suggestions() const { return {}; }
};

/// A decimal number such as 0.99 or 200, without an exponent.
struct Number {
  using Value = double;
  double min = 0, max = 1;
  const char* name = "X";  // its placeholder

  std::string placeholder() const { return name; }
  Value parse(const std::string& option, const std::string& text) const;
  bool holds(Value value) const { return value >= min && value <= max; }
  std::string show(Value value) const;
  Suggestions suggestions() const { return {}; }
};

/// Milliseconds, at most an hour.
inline Number milliseconds() { return {0, 3.6e6, "MS"}; }

/// A number of bytes above 0: an integer, optionally with K, M, G or T (powers of 1024).
struct ByteCount {
  using Value = size_t;

  std::string placeholder() const { return "BYTES"; }
  Value parse(const std::string& option, const std::string& text) const;
  bool holds(Value value) const { return value >= 1; }
  std::string show(Value value) const { return std::to_string(value); }
  Suggestions suggestions() const { return {}; }
};

/// Any text; the command itself parses it.
struct Text {
  using Value = std::string;
  std::string name;                                // its placeholder
  std::function<Suggestions()> suggest = nullptr;  // words for completion; null: none
  std::vector<std::string> endings = {};  // accepted endings of the text; empty: every text is accepted
  bool streams = false;                   // with `endings`: also '-' and other names of streams

  std::string placeholder() const { return name; }
  Value parse(const std::string& option, const std::string& text) const;
  bool holds(const Value& value) const;
  std::string show(const Value& value) const { return value; }
  Suggestions suggestions() const { return suggest ? suggest() : Suggestions{}; }
};

/// Throws UsageError: `option` expects one of `words` and found `text`.
[[noreturn]] void throw_unknown_word(const std::string& option, const std::string& text,
                                     const std::vector<std::string>& words);

/// A word for one of a few values.
template <typename V>
struct Words {
  using Value = V;
  std::vector<std::pair<std::string, V>> known;

  std::vector<std::string> words() const {
    std::vector<std::string> texts;
    for (const auto& [word, value] : known) texts.push_back(word);
    return texts;
  }
  std::string placeholder() const { return joined(words(), "|"); }
  Value parse(const std::string& option, const std::string& text) const {
    for (const auto& [word, value] : known) {
      if (word == text) return value;
    }
    throw_unknown_word(option, text, words());
  }
  bool holds(const Value& value) const { return !show(value).empty(); }
  std::string show(const Value& value) const {
    for (const auto& [word, meaning] : known) {
      if (meaning == value) return word;
    }
    return {};
  }
  Suggestions suggestions() const { return {words(), {}}; }
};

/// Words that are the values themselves.
inline Words<std::string> words(const std::vector<std::string>& texts) {
  Words<std::string> result;
  for (const std::string& text : texts) result.known.emplace_back(text, text);
  return result;
}
/// Words for the values of an enumeration; `name` converts a value to its word.
template <typename Enum, size_t count>
Words<Enum> words(const Enum (&values)[count], const char* (*name)(Enum)) {
  Words<Enum> result;
  for (const Enum value : values) result.known.emplace_back(name(value), value);
  return result;
}

/// Splits at commas; throws UsageError for an empty part or more than kMaxListed parts, above every list that a person
/// writes.
std::vector<std::string> split_list(const std::string& option, const std::string& text);
constexpr size_t kMaxListed = 1000;

/// Comma-separated values of another kind.
template <typename Kind>
struct List {
  using Value = std::vector<typename Kind::Value>;
  Kind item;
  std::string empty_word = {};  // word for the empty list; if it is empty, the list must not be

  std::string placeholder() const { return empty_word.empty() ? "LIST" : "LIST|" + empty_word; }
  Value parse(const std::string& option, const std::string& text) const {
    Value values;
    if (!empty_word.empty() && text == empty_word) return values;
    for (const std::string& part : split_list(option, text)) {
      if (!empty_word.empty() && part == empty_word)
        throw UsageError(
            concat(option, ": ", empty_word, " stands alone, found '", printable_excerpt(text), "'"));
      values.push_back(item.parse(option, part));
    }
    return values;
  }
  bool holds(const Value& values) const {
    for (const auto& value : values) {
      if (!item.holds(value)) return false;
    }
    return values.size() <= kMaxListed && (!values.empty() || !empty_word.empty());
  }
  std::string show(const Value& values) const {
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : ",") + item.show(value);
    return text.empty() ? empty_word : text;
  }
  Suggestions suggestions() const { return item.suggestions(); }
};
template <typename Kind>
List(Kind) -> List<Kind>;
template <typename Kind>
List(Kind, const char*) -> List<Kind>;

/// Comma-separated integers from 1 to `max`, or FROM:TO:xFACTOR: 256:4096:x2 is 256, 512, … 4096.
struct Sizes : List<Integer> {
  explicit Sizes(int64_t max) : List<Integer>{{1, max}, {}} {}
  Value parse(const std::string& option, const std::string& text) const;
};

/// Stores a value in a member of its type or of a type that it converts to, optional or not.
template <typename T, typename V>
void assign(T& target, const V& value) {
  target = static_cast<T>(value);
}
template <typename T, typename V>
void assign(std::optional<T>& target, const V& value) {
  target = static_cast<T>(value);
}
template <typename T, typename V>
void assign(std::vector<T>& target, const std::vector<V>& values) {
  target.assign(values.begin(), values.end());
}
inline void assign(PictureLimits& target, const int64_t& pixels) {
  target = PictureLimits::up_to(pixels, target.option);
}

/// The inverse of assign(); nullopt for an optional member without a value, and for NaN.
template <typename V, typename T>
std::optional<V> value_in(const T& target) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(target)) return std::nullopt;
  }
  return static_cast<V>(target);
}
template <typename V, typename T>
std::optional<V> value_in(const std::optional<T>& target) {
  return target ? std::optional<V>(static_cast<V>(*target)) : std::nullopt;
}
template <typename V, typename T>
std::optional<V> value_in(const std::vector<T>& target) {
  return V(target.begin(), target.end());
}
template <typename V>
std::optional<V> value_in(const PictureLimits& target) {
  return target.max_pixels;
}

/// A member that holds one value of a kind.
template <typename Kind, typename T>
class MemberValue : public OptionValue {
 public:
  MemberValue(const Kind& kind, T& target) : kind_(kind), target_(target) {}
  void read(const std::string& name, const std::string& text) override {
    assign(target_, kind_.parse(name, text));
  }
  std::string show() const override {
    const auto value = value_in<typename Kind::Value>(target_);
    return value ? kind_.show(*value) : std::string();
  }
  bool legal() const override {
    const auto value = value_in<typename Kind::Value>(target_);
    return !value || kind_.holds(*value);
  }
  Suggestions suggestions() const override { return kind_.suggestions(); }

 private:
  Kind kind_;
  T& target_;
};

/// Appends every value to a member.
template <typename Kind>
class AppendedValues : public OptionValue {
 public:
  AppendedValues(const Kind& kind, std::vector<typename Kind::Value>& target)
      : kind_(kind), target_(target) {}
  void read(const std::string& name, const std::string& text) override {
    target_.push_back(kind_.parse(name, text));
  }
  std::string show() const override { return {}; }
  bool legal() const override { return true; }
  Suggestions suggestions() const override { return kind_.suggestions(); }

 private:
  Kind kind_;
  std::vector<typename Kind::Value>& target_;
};

}  // namespace lenslet
