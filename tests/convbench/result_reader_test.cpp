// Result files: what was written is read back unchanged, and invalid files are refused by name.
#include "apps/common/results/result_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "framework/base/interruption.h"
#include "framework/measuring/row_status.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using nlohmann::ordered_json;

ResultRow full_row() {
  ResultRow row;
  row.name = "rung";
  row.problem = "mb8ic32ih64oc128oh62kh3n\"shape \\ 1\"";
  row.backend = "implicit_gemm.03_thread_tile";
  row.detail = "64x64, \"quoted\"";
  row.dt = "bf16";
  row.math = "fp32";
  row.layout = "NHWC";
  row.cache = "cold";
  row.status = row_status::kSuspect;
  row.reason = "faster than the ceiling";
  row.study = "b";
  row.labels = {{"table", "ladder"}, {"rung", "03_thread_tile"}, {"change", "a tile in registers"}};
  row.time = {101, 1000.5, 1010.25, 1020, 1100.75, 5000};
  row.p99_ns = 1090;
  row.replayed = true;
  row.end_to_end = {31, 9000, 9100, 9200, 9300, 9400};
  row.stages_ns = {{"im2col", 100.5}, {"gemm", 900}};
  row.setup_ns = 12345;
  row.first_call_ns = 67890;
  row.workspace_bytes = 1048576;
  row.flops = 2.5e9;
  row.products_saved = 2.25;
  row.bytes_ideal = 1.5e7;
  row.ceiling_fraction = 0.73;
  row.bound_by = "fp32 gemm";
  row.error = ResultError{1e-6, 2e-5, 3e-5, 3935232};
  row.images = 8;
  row.accuracy = ResultAccuracy{7, 8, 6, 1};
  row.ratio_to_cudnn = 1.25;
  row.published = PublishedFigure{355904, 6370, "study B (Tesla V100)"};
  row.launches = {{"conv_kernel", 256, 64, 32768, 16, 4, 0.5}};
  row.repro = "convbench run --problem x";
  row.repro_benchdnn = "benchdnn --conv x";
  return row;
}

/// The visitor that collects the keys of a field list.
struct FieldNames {
  std::set<std::string> always, others, derived_;

  FieldNames& add(std::set<std::string>& names, std::initializer_list<const char*> keys) {
    for (const char* key : keys) names.insert(key);
    return *this;
  }
  template <class T>
  FieldNames& operator()(Key key, const T&) {
    return add(always, {key.json});
  }
  template <class T>
  FieldNames& later(Key key, const T&) {
    return add(others, {key.json});
  }
  template <class T>
  FieldNames& derived(Key key, const T&) {
    return add(derived_, {key.json});
  }
  template <class Words>
  FieldNames& one_of(Key key, const std::string&, const Words&) {
    return add(always, {key.json});
  }
  FieldNames& time(Key key, Key samples, const TimeStats&) { return add(always, {key.json, samples.json}); }
  FieldNames& later_time(Key key, Key samples, const TimeStats&) {
    return add(others, {key.json, samples.json});
  }
};

template <class Row>
FieldNames field_names() {
  FieldNames names;
  const Row row;
  Fields<Row>::of(row, names);
  return names;
}

std::string document(const std::vector<ResultRow>& rows, bool interrupted = false) {
  Ceilings ceilings;
  ceilings.device = Device::cuda(1);
  ceilings.copy_bytes_per_s = 4.2e12;
  ceilings.read_bytes_per_s = 4.5e12;
  ceilings.caches = {{"L2", 62914560, 4.6e12, 6.1e12}};
  ceilings.peaks = {{MathMode::kFp32, "FFMA", 65.8e12}, {MathMode::kFp16, "wgmma", NAN}};
  ceilings.fp32_flops_per_s = 51e12;
  ceilings.gemm_library = "cuBLAS";
  ceilings.notes = "tf32 was not measured";
  ResultFile file;
  file.tool = "convbench ladder";
  file.ceilings = &ceilings;
  file.rows = rows;
  file.interrupted = interrupted;
  return file.to_json([](JsonObject& json) { json("extra", 1); });
}

/// The document with one change.
std::string changed(const std::function<void(ordered_json&)>& change) {
  ordered_json parsed = ordered_json::parse(document({full_row()}));
  change(parsed);
  return parsed.dump();
}

TEST(ResultReader, ReadsBackWhatWasWritten) {
  const std::string text = document({full_row(), ResultRow()});
  const ReadResults results = parse_results(text, "file.json");
  ASSERT_EQ(results.rows.size(), 2u);
  EXPECT_TRUE(results.complete());
  ASSERT_TRUE(results.ceilings.has_value());
  EXPECT_EQ(results.ceilings->device, Device::cuda(1));
  EXPECT_EQ(results.ceilings->caches.at(0).name, "L2");
  EXPECT_TRUE(std::isnan(results.ceilings->tf32_flops_per_s));

  // Every member of a row: what is written again is the same text.
  ResultFile again;
  again.tool = results.environment.tool;
  again.ceilings = &*results.ceilings;
  again.rows = results.rows;
  const ordered_json before = ordered_json::parse(text), after = ordered_json::parse(again.to_json());
  EXPECT_EQ(before["results"].dump(1), after["results"].dump(1));
  EXPECT_EQ(before["ceilings"].dump(1), after["ceilings"].dump(1));
  EXPECT_EQ(results.rows[0].labels, full_row().labels);
  EXPECT_EQ(results.rows[0].time.samples, 101u);
}

// Each field of the list is written, read, and a column of the CSV file; rows with different values give different
// text.
TEST(ResultReader, EveryFieldOfTheListIsWrittenAndRead) {
  const ordered_json full = ordered_json::parse(document({full_row()}))["results"][0];
  const ordered_json empty = ordered_json::parse(document({ResultRow()}))["results"][0];
  const FieldNames list = field_names<ResultRow>();
  EXPECT_EQ(full.size(), list.always.size() + list.others.size() + list.derived_.size());
  const ResultRow read = parse_results(document({full_row()}), "f").rows[0];
  ResultFile file;
  file.rows = {full_row()};
  const std::string csv = file.to_csv(), heading = "," + csv.substr(0, csv.find('\n')) + ",";
  file.rows = {read};
  EXPECT_EQ(file.to_csv(), csv);
  const ordered_json again = ordered_json::parse(document({read}))["results"][0];
  // Exceptions: fields with another CSV name, objects (one of their columns), and lists of rows, which CSV leaves out.
  const std::map<std::string, std::string> columns = {
      {"time_ns", "median_ns"},   {"end_to_end_ns", "end_to_end_median_ns"},
      {"error", "max_abs_error"}, {"published", "published_gflops"},
      {"accuracy", "correct"},    {"launches", ""}};
  for (const auto* names : {&list.always, &list.others, &list.derived_}) {
    for (const std::string& name : *names) {
      ASSERT_TRUE(full.contains(name)) << name;
      EXPECT_NE(full[name], empty[name]) << name << ": give it a value of its own in full_row()";
      EXPECT_EQ(again[name], full[name]) << name << " is not read back";
      const auto found = columns.find(name);
      const std::string column = found == columns.end() ? name : found->second;
      EXPECT_NE(heading.find("," + column + (column.empty() ? "" : ",")), std::string::npos) << name;
    }
  }
}

TEST(ResultReader, RecognisesAnInterruptedFile) {
  const ReadResults results = parse_results(document({}, true), "file.json");
  EXPECT_EQ(results.status, document_status::kInterrupted);
  EXPECT_FALSE(results.complete());
  EXPECT_TRUE(results.rows.empty());
}

TEST(ResultReader, ReadsFilesOfTheFirstPrograms) {
  for (const char* file : {"profile_h200.json", "profile_cpu.json"}) {
    const ReadResults results =
        read_results(std::string(LENSLET_SOURCE_DIR "/tests/convbench/first_schema/") + file);
    EXPECT_FALSE(results.rows.empty()) << file;
    EXPECT_EQ(results.environment.tool, "lenslet profile");
    EXPECT_GT(results.rows.front().time.median, 0) << file;
  }
}

// Rows of older files pair with those of today.
TEST(ResultReader, ReplacesTheWordsOfOlderFiles) {
  ResultRow today = full_row();
  today.backend = "resident";
  today.labels = {{"plan", "fused"}, {"mode", "resident"}};
  ResultRow before = today;
  before.backend = "small";  // the one that the configuration named
  before.labels.insert(before.labels.begin() + 1, {"variant", "resident"});
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  before.backend = today.backend = "layered";
  before.labels[1].second.clear();
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  today.labels = before.labels = {};
  const std::string name = today.name;
  today.name = "uninstrumented";
  before.name = "unprofiled";
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  today.name = before.name = name;
  today.labels = {{"rung", "beside"}};
  before.labels = {{"rung", "rival"}};
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  today.labels = {{"algorithm", "direct"}, {"rung", "06_filters_in_shared"}};
  before.labels = {{"algorithm", "direct"}, {"rung", "05_vector_loads"}};
  today.backend = "direct.06_filters_in_shared";
  before.backend = "direct.05_vector_loads";
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  // A rung that was divided, and two ladders with rungs of one name.
  today.labels = {{"algorithm", "implicit_gemm"}, {"rung", "10_async_copy"}};
  before.labels = {{"algorithm", "implicit_gemm"}, {"rung", "07_async_copy"}};
  today.backend = "implicit_gemm.10_async_copy";
  before.backend = "implicit_gemm.07_async_copy";
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  before.labels = {{"algorithm", "implicit_gemm"}, {"rung", "09_async_copy"}};  // divided a second time
  before.backend = "implicit_gemm.09_async_copy";
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  today.labels = {{"algorithm", "tensor_core"}, {"rung", "05_ldmatrix"}};
  before.labels = {{"algorithm", "tensor_core"}, {"rung", "03_swizzle"}};
  today.backend = "tensor_core.05_ldmatrix";
  before.backend = "tensor_core.03_swizzle";
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  EXPECT_EQ(row_key(parse_results(document({today}), "new.json").rows[0]), row_key(today));
  today.labels = {{"plan", "fused"}, {"place", "device"}};
  before.labels = {{"plan", "fused"}, {"place", "resident"}};
  today.backend = before.backend = "mma";
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));
  today.labels = before.labels = {{"filter", "rival"}};  // another label
  before.backend = today.backend;
  EXPECT_EQ(row_key(parse_results(document({before}), "old.json").rows[0]), row_key(today));

  const std::string old_settings = changed([](ordered_json& file) {
    file["settings"] = {{"seed", "1"}, {"pictures", "drawn"}};
  });
  const std::vector<std::pair<std::string, std::string>> settings = {{"seed", "1"}, {"samples", "drawn"}};
  EXPECT_EQ(parse_results(old_settings, "old.json").environment.settings, settings);
}

// The files of docs/results that have this schema, parsed.
std::map<std::string, ordered_json> files_in_the_tree(const std::string& schema) {
  std::map<std::string, ordered_json> found;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(LENSLET_SOURCE_DIR "/docs/results")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const ordered_json document = ordered_json::parse(file);
    if (document.is_object() && document.value("schema", "") == schema) found.emplace(entry.path(), document);
  }
  return found;
}

std::set<std::string> names_of(const std::string& text) {
  const std::regex name("[a-z0-9_]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), name), std::sregex_token_iterator()};
}

// docs/result_files.md lists each key of a row once, in the first cells of a table, and no other key.
TEST(ResultReader, ThePageListsTheKeysOfARow) {
  const FieldNames list = field_names<ResultRow>();
  std::set<std::string> keys = list.always;
  keys.insert(list.others.begin(), list.others.end());
  keys.insert(list.derived_.begin(), list.derived_.end());
  std::ifstream page(LENSLET_SOURCE_DIR "/docs/result_files.md");
  std::set<std::string> listed;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    inside = line.rfind("| key of a row |", 0) == 0 || (inside && line.rfind('|', 0) == 0);
    if (!inside || line.rfind("| `", 0) != 0) continue;
    for (const std::string& name : names_of(line.substr(0, line.find('|', 1))))
      EXPECT_TRUE(listed.insert(name).second) << name << " is listed twice";
  }
  EXPECT_EQ(listed, keys);
}

TEST(ResultReader, ReadsTheFilesInTheTree) {
  const std::map<std::string, ordered_json> files = files_in_the_tree(ResultFile::kSchema);
  EXPECT_GT(files.size(), 5u);
  for (const auto& [path, document] : files) {
    const ReadResults results = read_results(path);
    EXPECT_EQ(results.rows.size(), document["results"].size()) << path;
    EXPECT_FALSE(results.rows.empty()) << path;
    EXPECT_EQ(results.environment.tool, document["tool"]) << path;
  }
}

TEST(ResultReader, RefusesWhatIsNoResultFile) {
  const auto refuse = [](const std::string& text, const std::string& fragment) {
    expect_error<DataError>([&] { parse_results(text, "file.json"); }, fragment, "file.json");
  };
  refuse("", "not JSON");
  refuse("no json\n", "not JSON");
  const std::string whole = document({full_row()});
  refuse(whole.substr(0, whole.size() / 2), "truncated");
  refuse(whole + "{}", "not JSON");
  refuse("[]", "must be an object");
  refuse("{}", "lacks \"schema\"");
  refuse(R"({"schema": 3})", "\"schema\" must be a text, found 3");
  refuse(R"({"schema": "lenslet.eval/1"})", "schema is \"lenslet.eval/1\", expected \"lenslet.results/1\"");
  refuse(R"({"schema": "lenslet.results/1", "schema": "lenslet.results/1"})", "\"schema\" appears twice");
  refuse(std::string(100000, '['), "nested deeper");
  refuse("\"" + std::string(100000, 'x'), "…xx");
  expect_error<DataError>([] { read_results("/nonexistent.json"); }, "/nonexistent.json");
}

TEST(ResultReader, RefusesANulThatHidesTheRest) {
  const std::string whole = document({full_row()});
  expect_error<DataError>([&] { parse_results(whole + '\0' + "{\"results\": [", "f"); },
                          concat("f: a NUL at byte ", whole.size()));
  std::string inside = whole;
  inside.insert(20, 1, '\0');
  expect_error<DataError>([&] { parse_results(inside, "f"); }, "f: a NUL at byte 20");
}

TEST(ResultReader, KeysWithEscapedNulsAreKeysOfTheirOwn) {
  const std::string text = changed([](ordered_json& root) {
    root["results"][0]["labels"] = {{"size", "1"}, {std::string("size\0x", 6), "2"}};
    root["results"][0]["stages_ns"] = {{"gemm", 1}, {std::string("gemm\0x", 6), 2}};
  });
  const ResultRow row = parse_results(text, "f").rows[0];
  ASSERT_EQ(row.labels.size(), 2u);
  EXPECT_EQ(row.labels[1].first, std::string("size\0x", 6));
  EXPECT_EQ(row.labels[1].second, "2");
  EXPECT_EQ(row.stages_ns.at(1).second, 2);
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string long_document(size_t rows) { return document(std::vector<ResultRow>(rows)); }

TEST(ResultReader, TakesTimeInProportionToTheFile) {
  const auto seconds = [](size_t rows) {
    const std::string text = long_document(rows);
    const double start = cpu_seconds();
    EXPECT_EQ(parse_results(text, "f").rows.size(), rows);
    return cpu_seconds() - start;
  };
  seconds(100);
  constexpr double kMaxRatio = 20;
  double ratio = INFINITY;  // the smallest of ten, because other processes lengthen some runs
  for (int i = 0; i < 10 && ratio >= kMaxRatio; ++i) ratio = std::min(ratio, seconds(16000) / seconds(2000));
  EXPECT_LT(ratio, kMaxRatio) << "8 times the rows; with the square of them it would be 64 times";
}

TEST(ResultReader, BoundsEveryList) {
  const auto refused = [](const std::string& fragment, const std::function<void(ordered_json&)>& change) {
    const std::string text = changed(change);
    const double start = cpu_seconds();
    expect_error<DataError>([&] { parse_results(text, "f"); }, fragment);
    EXPECT_LT(cpu_seconds() - start, 3) << fragment;
  };
  const ordered_json device = {{"name", "GPU"}};
  const ordered_json library = {{"name", "lib"}, {"version", "1"}, {"path", "/"}};
  refused("\"devices\" has at most 1024 entries, found 60000",
          [&](ordered_json& root) { root["devices"] = ordered_json::array_t(60'000, device); });
  refused("\"libs\" has at most 1024 entries, found 60000",
          [&](ordered_json& root) { root["libs"] = ordered_json::array_t(60'000, library); });
  refused("\"launches\" has at most 1024 entries, found 1025",
          [&](ordered_json& root) { root["results"][0]["launches"] = ordered_json::array_t(1025, device); });
  refused("\"results\" has at most 100000 entries, found 100001",
          [&](ordered_json& root) { root["results"] = ordered_json::array_t(100'001, nullptr); });
}

TEST(ResultReader, NamesFewDevicesOfMany) {
  ResultEnvironment environment;
  for (int i = 0; i < 1000; ++i) environment.devices.emplace_back().name = concat("GPU ", i / 2, "\x1b[2J");
  EXPECT_EQ(environment.device_name(),
            "2 x GPU 0\\x1b[2J and 2 x GPU 1\\x1b[2J and 2 x GPU 2\\x1b[2J and 2 x GPU 3\\x1b[2J and 496 "
            "other models");
}

TEST(ResultReader, StopsOnRequest) {
  const std::string text = document({full_row()});
  stop_when([] { return true; });
  EXPECT_THROW(parse_results(text, "f"), InterruptedError);
  EXPECT_THROW(parse_results(document({}), "f"), InterruptedError) << "before it comes to the rows as well";
  static int questions;
  questions = 0;
  stop_when([] { return ++questions > 5000; });
  const std::string rows = long_document(16000);
  EXPECT_THROW(parse_results(rows, "f"), InterruptedError) << "in the middle as well";
  stop_when(nullptr);
  EXPECT_EQ(parse_results(text, "f").rows.size(), 1u);
}

TEST(ResultReader, NamesTheMissingKey) {
  for (const char* key :
       {"tool", "status", "reason", "meta", "host", "devices", "libs", "ceilings", "results"}) {
    const std::string text = changed([&](ordered_json& root) { root.erase(key); });
    expect_error<DataError>([&] { parse_results(text, "f"); }, concat("f lacks \"", key, "\""));
  }
  const ordered_json row = ordered_json::parse(document({full_row()}))["results"][0];
  const FieldNames list = field_names<ResultRow>();
  EXPECT_GT(list.always.size(), 15u);
  for (const auto& [key, value] : row.items()) {
    const std::string name = key;
    const std::string text = changed([&](ordered_json& root) { root["results"][0].erase(name); });
    if (list.always.count(name) == 0) {
      EXPECT_EQ(parse_results(text, "f").rows.size(), 1u) << name;
    } else {
      expect_error<DataError>([&] { parse_results(text, "f"); }, concat("results[0] lacks \"", name, "\""));
    }
  }
}

TEST(ResultReader, NamesTheWrongValue) {
  const auto refuse = [](const char* key, const ordered_json& value, const std::string& fragment) {
    const std::string text = changed([&](ordered_json& root) { root["results"][0][key] = value; });
    expect_error<DataError>([&] { parse_results(text, "f"); }, concat("results[0]: \"", key, "\""), fragment);
  };
  refuse("status", "FINE", "PASSED, FAILED");
  refuse("samples", -1, "a whole number >= 0, found -1");
  refuse("samples", 1.5, "a whole number >= 0, found 1.5");
  refuse("samples", 0, "1 or more");
  refuse("flops", "many", "a number, found \"many\"");
  refuse("time_ns", 12, "must be an object, found 12");
  refuse("time_ns", {{"min", 5}, {"p10", 4}, {"median", 6}, {"p90", 7}, {"max", 8}}, "at least 5");
  refuse("time_ns", {{"min", 5}, {"median", 6}, {"p90", 7}, {"max", 8}}, "lacks \"p10\"");
  refuse("time_ns", {{"min", nullptr}, {"p10", 4}, {"median", 6}, {"p90", 7}, {"max", 8}},
         "a number, found null");
  refuse("labels", {{"size", 256}}, "a text, found 256");
  refuse("launches", {{{"kernel", "k"}}}, "lacks \"threads_per_block\"");
  ordered_json launch = ordered_json::parse(document({full_row()}))["results"][0]["launches"][0];
  launch["registers_per_thread"] = int64_t{1} << 32;
  expect_error<DataError>(
      [&] {
        parse_results(changed([&](ordered_json& root) { root["results"][0]["launches"] = {launch}; }), "f");
      },
      "launches\"[0]: \"registers_per_thread\" must be a whole number from 0 to 2147483647, found "
      "4294967296");
  refuse("published", {{"time_ns", 1}, {"gflops", nullptr}}, "lacks \"source\"");
  refuse("workspace_bytes", 1e300, "a whole number");
}

TEST(ResultReader, KeysDistinguishRows) {
  const ResultRow row = full_row();
  EXPECT_EQ(row_key(row), row_key(full_row()));
  const std::vector<std::function<void(ResultRow&)>> others = {
      [](ResultRow& r) { r.study = "a"; },     [](ResultRow& r) { r.labels[1].second = "04"; },
      [](ResultRow& r) { r.problem += "x"; },  [](ResultRow& r) { r.backend = "cudnn"; },
      [](ResultRow& r) { r.math = "tf32"; },   [](ResultRow& r) { r.dt = "fp16"; },
      [](ResultRow& r) { r.layout = "NCHW"; }, [](ResultRow& r) { r.cache = "hot"; },
      [](ResultRow& r) { r.name = "conv1"; },  [](auto& r) { r.labels.pop_back(), r.labels.pop_back(); }};
  for (const auto& change : others) {
    ResultRow other = row;
    change(other);
    EXPECT_NE(row_key(row), row_key(other)) << row_key(other);
  }
  // Measured values and descriptions do not identify a row.
  ResultRow again = row;
  again.time.median += 1;
  again.status = row_status::kPassed;
  again.detail = "another tile";
  again.labels[2].second = "other words";
  EXPECT_EQ(row_key(row), row_key(again));
}

TEST(ResultReader, ReportsWhatDiffersBetweenEnvironments) {
  ResultEnvironment here = this_environment("convbench sweep", false, {{"seed", "1"}});
  EXPECT_EQ(here.device_name(), here.cpu);
  std::string reason;
  EXPECT_TRUE(same_environment(here, this_environment("convbench sweep", false, {{"seed", "1"}}), &reason))
      << reason;
  ResultEnvironment more = here;
  more.libs = {{"oneDNN", "2.6.3", "/lib"}};
  EXPECT_TRUE(same_environment(here, more, &reason)) << "a library that the file's rows did not need";
  here.libs = {{"cuDNN", "9.14", "/lib"}};
  EXPECT_TRUE(same_environment(here, here, nullptr));
  const std::vector<std::pair<std::function<void(ResultEnvironment&)>, std::string>> others = {
      {[](ResultEnvironment& e) { e.tool = "convbench run"; },
       "tool differs: \"convbench sweep\" and \"convbench run\""},
      {[](ResultEnvironment& e) { e.git = "000000000000"; }, "commit differs"},
      {[](ResultEnvironment& e) { e.dirty = !e.dirty; }, "tree differs"},
      {[](ResultEnvironment& e) {
         e.devices.resize(2);
         e.devices[0].name = e.devices[1].name = "NVIDIA H200";
       },
       "\"2 x NVIDIA H200\""},
      {[](ResultEnvironment& e) { e.threads_used += 1; }, "threads differs"},
      {[](ResultEnvironment& e) {
         e.settings = {{"seed", "2"}};
       },
       "seed differs: \"1\" and \"2\""},
      {[](ResultEnvironment& e) { e.settings.clear(); }, "seed differs: \"1\" and \"not recorded\""},
      {[](ResultEnvironment& e) { e.libs[0].version = "9.19"; }, "cuDNN differs: \"9.14\" and \"9.19\""},
      {[](ResultEnvironment& e) { e.libs.clear(); }, "cuDNN differs: \"9.14\" and \"not loaded\""}};
  for (const auto& [change, expected] : others) {
    ResultEnvironment other = here;
    change(other);
    EXPECT_FALSE(same_environment(here, other, &reason));
    EXPECT_NE(reason.find(expected), std::string::npos) << reason;
  }
}

}  // namespace
}  // namespace lenslet
