#include "apps/common/results/result_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/strict_json.h"
#include "framework/base/text.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxBytes = 64u << 20;  // our files have about 3 MiB; parsed they take ten times that
constexpr size_t kMaxRows = 100'000;     // ours have about 2,000
constexpr size_t kMaxEntries = 1024;     // of any other list; ours have about 20

/// The reading visitor: members of one object, whose place every message names.
class ObjectReader {
 public:
  ObjectReader(const ordered_json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value.is_object())
      throw DataError(concat(where_, " must be an object, found ", json_excerpt(value)));
  }

  template <class T>
  ObjectReader& operator()(Key key, T& to) {
    read(key.json, at(key.json), to);
    return *this;
  }
  template <class T>
  ObjectReader& later(Key key, T& to) {
    return has(key.json) ? (*this)(key, to) : *this;
  }
  template <class T>
  ObjectReader& derived(Key, const T&) {
    return *this;
  }
  template <class Words>
  ObjectReader& one_of(Key key, std::string& to, const Words& words) {
    to = text(key.json);
    std::string names;
    for (const char* word : words) {
      if (to == word) return *this;
      names += (names.empty() ? "" : ", ") + std::string(word);
    }
    throw wrong(key.json, at(key.json), "one of " + names);
  }
  ObjectReader& time(Key key, Key samples, TimeStats& to) {
    (*this)(samples, to.samples);
    const bool has_time = !at(key.json).is_null();
    if (has_time && to.samples == 0)
      throw wrong(samples.json, at(samples.json), concat("1 or more where there is \"", key.json, "\""));
    if (!has_time && to.samples != 0)
      throw wrong(samples.json, at(samples.json), concat("0 where \"", key.json, "\" is null"));
    if (has_time) read_quantiles(key, to);
    return *this;
  }
  ObjectReader& later_time(Key key, Key samples, TimeStats& to) {
    if (!has(key.json)) return *this;
    if (find(samples.json) != nullptr) return time(key, samples, to);
    to.samples = 1;  // a lower bound: older files have the time without the count
    read_quantiles(key, to);
    return *this;
  }
  template <class Body>
  ObjectReader& group(Key key, Body&& body) {
    ObjectReader members(at(key.json), inside(key.json));
    body(members);
    return *this;
  }

  /// Reads the list `key` of at most `max_entries` entries, with one reader per entry.
  template <class Body>
  void each(const char* key, size_t max_entries, Body&& body) {
    size_t index = 0;
    for (const ordered_json& entry : list(key, at(key), max_entries))
      body(ObjectReader(entry, concat(where_, ": ", key, "[", index++, "]")));
  }
  /// A text that is not null.
  std::string text(const char* key) const { return text(key, at(key), "a text"); }

 private:
  // A key, or an entry of the list under that key.
  struct Name {
    Name(const char* name) : key(name) {}  // NOLINT: of a literal
    explicit Name(std::string_view name, size_t entry = SIZE_MAX) : key(name), index(entry) {}
    std::string_view key;
    size_t index = SIZE_MAX;
  };
  /// Whether the key exists and is not null.
  bool has(const char* key) const {
    const ordered_json* const found = find(key);
    return found != nullptr && !found->is_null();
  }
  const ordered_json* find(const char* key) const {
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }
  const ordered_json& at(const char* key) const {
    const ordered_json* const found = find(key);
    if (found == nullptr) throw DataError(concat(where_, " lacks \"", key, "\""));
    return *found;
  }
  std::string inside(Name name) const {
    const std::string key = concat(where_, ": \"", printable_excerpt(name.key), "\"");
    return name.index == SIZE_MAX ? key : concat(key, "[", name.index, "]");
  }
  DataError wrong(Name key, const ordered_json& value, const std::string& expected) const {
    return DataError(concat(inside(key), " must be ", expected, ", found ", json_excerpt(value)));
  }

  template <class T>
  void read(Name key, const ordered_json& value, T& to) const {
    if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_null()) to = text(key, value, "a text or null");
      if (value.is_null()) to.clear();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_boolean()) throw wrong(key, value, "true or false");
      to = value.get<bool>();
    } else if constexpr (std::is_floating_point_v<T>) {
      to = value.is_null() ? NAN : number(key, value);
    } else if constexpr (std::is_integral_v<T>) {
      constexpr uint64_t max_value = sizeof(T) < sizeof(int64_t) ? INT32_MAX : INT64_MAX;
      if (!value.is_number_unsigned() || value.get<uint64_t>() > max_value)
        throw wrong(
            key, value,
            max_value == INT64_MAX ? "a whole number >= 0" : concat("a whole number from 0 to ", max_value));
      to = static_cast<T>(value.get<uint64_t>());
    } else if constexpr (std::is_same_v<T, Device>) {
      to = device(key, value);
    } else if constexpr (std::is_same_v<T, MathMode>) {
      const std::optional<MathMode> found = find_math_mode(text(key, value, "a text"));
      if (!found) throw wrong(key, value, math_mode_names());
      to = *found;
    } else if constexpr (field_kind::is_optional<T>) {
      if (value.is_null()) to.reset();
      if (!value.is_null()) read(key, value, to.emplace());
    } else if constexpr (field_kind::is_map<T>) {
      const ObjectReader members(value, inside(key));
      for (const auto& [name, member] : value.items()) {
        to.emplace_back(name, typename T::value_type::second_type{});
        members.read_entry(Name(name), member, to.back().second);
      }
    } else if constexpr (field_kind::has_fields<T>) {
      Fields<T>::of(to, ObjectReader(value, inside(key)));
    } else {
      for (const ordered_json& entry : list(key, value, kMaxEntries)) {
        const Name name(key.key, to.size());
        read_entry(name, entry, to.emplace_back());
      }
    }
  }
  // In a list or map a text is never null.
  template <class T>
  void read_entry(Name key, const ordered_json& value, T& to) const {
    if constexpr (std::is_same_v<T, std::string>) {
      to = text(key, value, "a text");
    } else {
      read(key, value, to);
    }
  }

  void read_quantiles(Key key, TimeStats& to) {
    const ObjectReader stats(at(key.json), inside(key.json));
    double before = 0;
    for (const auto& [name, target] :
         {std::pair("min", &to.min), std::pair("p10", &to.p10), std::pair("median", &to.median),
          std::pair("p90", &to.p90), std::pair("max", &to.max)}) {
      *target = stats.number(name, stats.at(name));
      if (!(*target >= before))
        throw stats.wrong(name, stats.at(name), concat("a time of at least ", before, " ns"));
      before = *target;
    }
  }
  std::string text(Name key, const ordered_json& value, const char* expected) const {
    if (!value.is_string()) throw wrong(key, value, expected);
    return value.get<std::string>();
  }
  double number(Name key, const ordered_json& value) const {
    if (!value.is_number() || !std::isfinite(value.get<double>())) throw wrong(key, value, "a number");
    return value.get<double>();
  }
  Device device(Name key, const ordered_json& value) const {
    const std::string found = text(key, value, "a text");
    if (found == "cpu") return Device::cpu();
    const bool numbered =
        found.rfind("cuda:", 0) == 0 && found.size() > 5 && found.size() <= 8 &&
        std::all_of(found.begin() + 5, found.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!numbered) throw wrong(key, value, "cpu or cuda:N");
    return Device::cuda(std::stoi(found.substr(5)));
  }
  const ordered_json& list(Name key, const ordered_json& value, size_t max_entries) const {
    if (!value.is_array()) throw wrong(key, value, "an array");
    if (value.size() > max_entries)
      throw DataError(concat(inside(key), " has at most ", max_entries, " entries, found ", value.size()));
    return value;
  }

  const ordered_json& value_;
  std::string where_;
};

/// Replaces the words of older files, so that their rows pair with new ones: the label `variant` for the backend that
/// `lenslet bench` ran and its place "resident", the text "rival" for a backend that is measured with a ladder, and the
/// names of rungs: several were divided since, so others have new numbers. Each becomes the rung that has its code
/// today. Rungs whose code has changed since keep their names.
void use_words_of_today(ResultRow& row) {
  static constexpr std::pair<const char*, const char*> kRenamedRungs[] = {
      {"direct.05_vector_loads", "06_filters_in_shared"},
      {"direct.06_weights_as_operands", "07_weights_as_operands"},
      {"direct.08_rolling_rows", "09_rolling_rows"},
      {"direct.09_next_row_ahead", "10_next_row_ahead"},
      {"direct.10_strips_fill_the_gpu", "11_strips_fill_the_gpu"},
      {"implicit_gemm.05_offset_table", "08_unchecked"},
      {"implicit_gemm.06_double_buffer", "09_double_buffer"},
      {"implicit_gemm.07_async_copy", "10_async_copy"},
      {"implicit_gemm.08_read_ahead", "11_read_ahead"},
      {"implicit_gemm.09_thread_16x8", "12_thread_16x8"},
      {"implicit_gemm.05_tap_offsets", "06_tap_offsets"},
      {"implicit_gemm.06_packed_filters", "07_packed_filters"},
      {"implicit_gemm.07_unchecked", "08_unchecked"},
      {"implicit_gemm.08_double_buffer", "09_double_buffer"},
      {"implicit_gemm.09_async_copy", "10_async_copy"},
      {"implicit_gemm.10_read_ahead", "11_read_ahead"},
      {"implicit_gemm.11_thread_16x8", "12_thread_16x8"},
      {"tensor_core.01_staged", "02_mma_sync"},
      {"tensor_core.02_async_copy", "03_async_copy"},
      {"tensor_core.03_swizzle", "05_ldmatrix"},
      {"tensor_core.04_warpgroup", "06_warpgroup"},
      {"tensor_core.05_tensor_copy", "07_tensor_copy"},
      {"tensor_core.06_copy_warp", "09_products_in_flight"},
      {"tensor_core.07_multicast", "10_multicast"},
      {"tensor_core.08_persistent", "11_persistent"},
      {"tensor_core.09_whole_lines", "12_whole_lines"},
      {"tensor_core.10_kept_filters", "14_shared_inputs"}};
  const auto renamed = std::find_if(std::begin(kRenamedRungs), std::end(kRenamedRungs),
                                    [&](const auto& rung) { return row.backend == rung.first; });
  if (renamed != std::end(kRenamedRungs))
    row.backend = concat(row.backend.substr(0, row.backend.find('.') + 1), renamed->second);
  if (row.name == "unprofiled") row.name = "uninstrumented";
  if (row.name == "profiled") row.name = "instrumented";
  for (auto& [label, text] : row.labels) {
    if (label == "variant" && !text.empty()) row.backend = text;
    if (label == "place" && text == "resident") text = "device";
    if (label == "rung" && text == "rival") text = "beside";
    if (label == "rung" && renamed != std::end(kRenamedRungs)) text = renamed->second;
  }
  row.labels.erase(std::remove_if(row.labels.begin(), row.labels.end(),
                                  [](const auto& label) { return label.first == "variant"; }),
                   row.labels.end());
}

/// The same for the settings: `lenslet bench` recorded the kind of its samples as `pictures`.
void use_words_of_today(ResultEnvironment& environment) {
  for (auto& [setting, text] : environment.settings) {
    if (setting == "pictures") setting = "samples";
  }
}

}  // namespace

ReadResults parse_results(const std::string& text, const std::string& origin) {
  if (text.size() > kMaxBytes)
    throw DataError(concat(origin, ": a result file has at most ", kMaxBytes, " bytes, found ", text.size()));
  const ordered_json document = parse_strict_json(text, origin);
  ObjectReader root(document, origin);
  const std::string schema = root.text("schema");
  if (schema != ResultFile::kSchema)
    throw DataError(concat(origin, ": schema is \"", printable_excerpt(schema), "\", expected \"",
                           ResultFile::kSchema,
                           "\": a file that --json of profile, doctor, bench or convbench wrote"));
  ReadResults results;
  results.path = origin;
  Fields<ResultEnvironment>::of(results.environment, root);
  use_words_of_today(results.environment);
  root.one_of("status", results.status, document_status::kAll);
  root("reason", results.reason)("ceilings", results.ceilings);
  root.each("results", kMaxRows, [&](ObjectReader entry) {
    throw_if_stopped("reading a file");
    Fields<ResultRow>::of(results.rows.emplace_back(), entry);
    use_words_of_today(results.rows.back());
  });
  return results;
}

ReadResults read_results(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path, kMaxBytes);
  return parse_results(std::string(bytes.begin(), bytes.end()), printable_excerpt(path));
}

std::string row_key(const ResultRow& row) {
  std::string key = "study=" + row.study;
  // A separator that is part of no name, problem string or label.
  for (const auto& [name, text] : row.labels) {
    if (name != "change") key += "\x1f" + name + "=" + text;
  }
  for (const std::string* part :
       {&row.name, &row.problem, &row.backend, &row.dt, &row.math, &row.layout, &row.cache})
    key += "\x1f" + *part;
  return key;
}

}  // namespace lenslet
