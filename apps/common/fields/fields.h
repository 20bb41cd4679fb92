// Field lists: a type lists its members once. The JSON writer, the CSV writer and the reader of result files
// (result_reader.cpp) are derived from that list.
//
//   struct Point {
//     double x = NAN;
//     std::string label;
//     template <class Self, class V>
//     static void fields(Self& self, V&& v) {
//       v("x", self.x)("label", self.label);
//     }
//   };
//
// A visitor `v` has
//   v(key, member)                              in every file
//   v.later(key, member)                        may be missing: older files lack it. The member then keeps its value
//   v.derived(key, value)                       written, never read
//   v.one_of(key, member, words)                a text, one of these
//   v.time(key, samples_key, stats), v.later_time(…)  quantiles, and their number under a key of its own
//   v.group(key, body)                          an object without a type: body(v) names its members
//   v.column(name, value)                       in CSV only
//
// In JSON a value that does not apply is null: an empty text, NaN, nullopt, a time without samples. Inside a list or
// map an empty text stays an empty text.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/device/device.h"
#include "framework/device/launch_resources.h"
#include "framework/measuring/statistics.h"
#include "framework/tensor/math_mode.h"
#include "framework/tensor/tensor.h"

namespace lenslet {

/// Name of a field: its key in JSON, and its column in CSV if that differs (see CsvRow).
struct Key {
  Key(const char* name) : json(name) {}                                           // NOLINT: v("name", …)
  Key(const char* name, const char* csv_column) : json(name), csv(csv_column) {}  // v({"name", "column"}, …)
  const char* json;
  const char* csv = nullptr;
};

/// The field list of a type: its own static fields(), or a specialisation for types of other libraries.
template <class T, class = void>
struct Fields {};
template <class T>
struct Fields<T, std::void_t<decltype(T::fields(std::declval<T&>(), 0))>> {
  template <class Self, class V>
  static void of(Self& self, V&& v) {
    T::fields(self, v);
  }
};

template <>
struct Fields<TimeStats> {  // the number of samples is a key beside it
  template <class Self, class V>
  static void of(Self& time, V&& v) {
    v("min", time.min)("p10", time.p10)("median", time.median)("p90", time.p90)("max", time.max);
  }
};

template <>
struct Fields<LaunchResources> {
  template <class Self, class V>
  static void of(Self& launch, V&& v) {
    v("kernel", launch.kernel);
    v("threads_per_block", launch.threads_per_block);
    v("registers_per_thread", launch.registers_per_thread);
    v("shared_bytes", launch.shared_bytes);
    v("local_bytes", launch.local_bytes);
    v("blocks_per_multiprocessor", launch.blocks_per_multiprocessor);
    v("occupancy", launch.occupancy);
  }
};

namespace field_kind {

template <class T, class = void>
inline constexpr bool has_fields = false;
template <class T>
inline constexpr bool has_fields<T, std::void_t<decltype(Fields<T>::of(std::declval<T&>(), 0))>> = true;

template <class T>
inline constexpr bool is_text = std::is_convertible_v<const T&, std::string_view>;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
/// A map that keeps the order of insertion.
template <class T>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::vector<std::pair<std::string, T>>> = true;

inline std::string_view text_of(std::string_view text) { return text; }
inline std::string_view text_of(MathMode math) { return to_string(math); }
inline std::string_view text_of(ElementType type) { return to_string(type); }
inline std::string text_of(Device device) { return device.to_string(); }

template <class T, class = void>
inline constexpr bool has_text = false;
template <class T>
inline constexpr bool has_text<T, std::void_t<decltype(text_of(std::declval<const T&>()))>> = true;

}  // namespace field_kind

/// Base of the writing visitors: treats every kind of field as a plain value.
template <class Visitor>
class WritingVisitor {
 public:
  template <class T>
  Visitor& later(Key key, const T& value) {
    return self()(key, value);
  }
  template <class T>
  Visitor& derived(Key key, const T& value) {
    return self()(key, value);
  }
  template <class Words>
  Visitor& one_of(Key key, const std::string& value, const Words&) {
    return self()(key, value);
  }
  Visitor& time(Key key, Key samples, const TimeStats& stats) {
    return self()(samples, stats.samples)(key, stats);
  }
  Visitor& later_time(Key key, Key samples, const TimeStats& stats) { return time(key, samples, stats); }

 private:
  Visitor& self() { return static_cast<Visitor&>(*this); }
};

/// Writes JSON: the members of one object, in the order of the calls.
class JsonObject : public WritingVisitor<JsonObject> {
 public:
  using Json = nlohmann::ordered_json;
  /// Makes `value` an empty object, which must outlive this.
  explicit JsonObject(Json& value);

  template <class T>
  JsonObject& operator()(Key key, const T& value) {
    Json& member = add(key.json);
    if constexpr (field_kind::is_text<T>) {
      if (std::string_view(value).empty()) return *this;
    }
    put(member, value);
    return *this;
  }
  template <class Body>
  JsonObject& group(Key key, Body&& body) {
    JsonObject members(add(key.json));
    body(members);
    return *this;
  }
  template <class T>
  JsonObject& column(Key, const T&) {
    return *this;
  }

  /// `value` of any supported type as JSON.
  template <class T>
  static void put(Json& to, const T& value) {
    using namespace field_kind;
    if constexpr (std::is_same_v<T, bool>) {
      put_flag(to, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      put_number(to, value);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      put_integer(to, value);
    } else if constexpr (std::is_integral_v<T>) {
      put_count(to, value);
    } else if constexpr (has_text<T>) {
      put_text(to, text_of(value));
    } else if constexpr (is_optional<T>) {
      if (value) put(to, *value);
    } else if constexpr (std::is_same_v<T, TimeStats>) {
      if (value.samples > 0) Fields<T>::of(value, JsonObject(to));
    } else if constexpr (is_map<T>) {
      JsonObject members(to);
      for (const auto& [name, content] : value) put(members.add(name), content);
    } else if constexpr (has_fields<T>) {
      Fields<T>::of(value, JsonObject(to));
    } else {
      make_list(to);
      for (const auto& content : value) put(add_entry(to), content);
    }
  }

 private:
  Json& add(std::string_view name);
  static void make_list(Json& value);
  static Json& add_entry(Json& list);
  static void put_flag(Json& to, bool flag);
  static void put_number(Json& to, double number);
  static void put_integer(Json& to, int64_t number);
  static void put_count(Json& to, uint64_t number);
  static void put_text(Json& to, std::string_view text);

  Json& object_;
};

/// A row of CSV: one column per field, named by the key. A member of an object gets the object's key as prefix: `error`
/// and `checked` make error_checked. Quantiles get the stem: end_to_end_ns and p10 make end_to_end_p10_ns; time_ns has
/// no stem: p10_ns. Maps and lists of texts become one cell; a list of rows has no column.
class CsvRow : public WritingVisitor<CsvRow> {
 public:
  std::vector<std::string> columns, cells;

  template <class T>
  CsvRow& operator()(Key key, const T& value) {
    using namespace field_kind;
    if constexpr (std::is_arithmetic_v<T>) {
      cell(key, plain(value));
    } else if constexpr (has_text<T>) {
      text_cell(key, plain(value));
    } else if constexpr (is_optional<T>) {
      using Content = typename T::value_type;
      if constexpr (has_fields<Content>) {
        nest(key, value ? *value : Content{}, !value);
      } else {
        value ? (*this)(key, *value) : cell(key, {});
      }
    } else if constexpr (std::is_same_v<T, TimeStats>) {
      nest(key, value, value.samples == 0);
    } else if constexpr (has_fields<T>) {
      nest(key, value, false);
    } else if constexpr (is_map<T>) {
      std::string words;
      for (const auto& [name, content] : value)
        words += (words.empty() ? "" : " ") + name + "=" + plain(content);
      text_cell(key, words);
    } else if constexpr (has_text<typename T::value_type>) {
      std::string words;
      for (const auto& content : value) words += (words.empty() ? "" : " ") + plain(content);
      text_cell(key, words);
    }
    return *this;
  }
  template <class Body>
  CsvRow& group(Key key, Body&& body) {
    const std::string outer = std::exchange(prefix_, column_of(key));
    body(*this);
    prefix_ = outer;
    return *this;
  }
  template <class T>
  CsvRow& column(Key key, const T& value) {
    return (*this)(key, value);
  }

 private:
  std::string column_of(Key key) const;
  CsvRow& cell(Key key, const std::string& content);
  CsvRow& text_cell(Key key, const std::string& text);
  template <class T>
  void nest(Key key, const T& value, bool blank) {
    const bool outer = std::exchange(blank_, blank_ || blank);
    group(key, [&](CsvRow& members) { Fields<T>::of(value, members); });
    blank_ = outer;
  }
  static std::string number(double value);
  template <class T>
  static std::string plain(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      return number(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return std::to_string(value);  // true becomes 1
    } else {
      return std::string(field_kind::text_of(value));
    }
  }

  std::string prefix_;
  bool blank_ = false;  // inside an absent value: its columns stay empty
};

/// The cells separated by commas, and a newline.
std::string csv_line(const std::vector<std::string>& cells);

template <class Row>
CsvRow csv_row(const Row& row) {
  CsvRow csv;
  Fields<Row>::of(row, csv);
  return csv;
}
/// A heading, and one line per row.
template <class Row>
std::string csv_of(const std::vector<Row>& rows) {
  std::string text = csv_line(csv_row(Row{}).columns);
  for (const Row& row : rows) text += csv_line(csv_row(row).cells);
  return text;
}

}  // namespace lenslet
