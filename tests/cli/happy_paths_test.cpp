// What lenslet --help, profile, backends and doctor print and write for valid input.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "tests/cli/expect_environment.h"
#include "tests/cli/fixtures/files.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void expect_result_rows(const json& rows) {
  const std::set<std::string> statuses = {"PASSED", "FAILED", "UNSUPPORTED", "SKIPPED", "SUSPECT", "ERROR"};
  ASSERT_FALSE(rows.empty());
  for (const json& row : rows) {
    for (const char* key : {"problem",      "backend",          "math",     "layout",      "cache",
                            "status",       "reason",           "samples",  "time_ns",     "stages_ns",
                            "setup_ns",     "workspace_bytes",  "flops",    "bytes_ideal", "gflops",
                            "gbytes_per_s", "ceiling_fraction", "bound_by", "error",       "repro"}) {
      EXPECT_TRUE(row.contains(key)) << key << " is missing in " << row.dump();
    }
    EXPECT_EQ(statuses.count(row.at("status").get<std::string>()), 1u) << row.dump();
    EXPECT_TRUE(row.at("status") == "PASSED" || !row.at("reason").is_null()) << row.dump();
    if (!row.at("time_ns").is_null()) {
      for (const char* key : {"min", "p10", "median", "p90", "max"})
        EXPECT_GE(row.at("time_ns").at(key).get<double>(), 0);
    }
  }
}

TEST(Global, VersionAndHelp) {
  EXPECT_EQ(expect_run(lenslet("--version"), kOk).out.rfind("lenslet ", 0), 0u);
  expect_run(lenslet("--help"), kOk, "Exit codes");
  for (const std::string command :
       {"classify", "eval", "profile", "bench", "tune", "backends", "doctor", "inspect"}) {
    const ProgramRun about = expect_run(lenslet(command + " --help"), kOk, "  lenslet " + command);
    EXPECT_TRUE(about.err.empty());
  }
}

TEST(Global, AcceptsHelpAndVersionAsCommands) {
  EXPECT_EQ(expect_run(lenslet("version"), kOk).out, lenslet("--version").out);
  EXPECT_EQ(expect_run(lenslet("help"), kOk).out, lenslet("--help").out);
  EXPECT_EQ(expect_run(lenslet("help classify"), kOk).out, lenslet("classify --help").out);
  expect_run(lenslet("help clasify"), kUsage, "", "there is no command 'clasify'; did you mean classify?");
  expect_run(lenslet("version 2"), kUsage, "", "there is no command 'version'");
}

TEST(Profile, RowsAddUpAndFilesAreValid) {
  const ProgramRun run = lenslet(
      "profile --device cpu --strict --batch-size 16 --min-time-ms 20 --warmup-ms 5 --json "
      "{dir}/out/profile.json --csv {dir}/out/profile.csv --trace {dir}/out/trace.json");
  const json document = read_json("{dir}/out/profile.json");
  bool suspect = false;  // a busy machine may slow down the ceilings only
  for (const json& row : document.at("results")) suspect = suspect || row.at("status") == "SUSPECT";
  expect_run(run, suspect ? kCheckFailed : kOk);
  expect_members(document, {{"schema", "lenslet.results/1"}, {"status", "COMPLETE"}, {"held_back", true}});
  const json& check = document.at("check");
  EXPECT_EQ(check.at("checked"), 160);
  EXPECT_LE(check.at("max_abs").get<double>(), check.at("bound").get<double>());
  expect_environment(document);
  expect_result_rows(document.at("results"));
  EXPECT_GT(document.at("ceilings").at("copy_bytes_per_s").get<double>(), 0);
  EXPECT_GT(document.at("ceilings").at("fp32_flops_per_s").get<double>(), 0);
  double layers = 0;
  std::set<std::string> names;
  for (const json& row : document.at("results")) {
    names.insert(row.at("name").get<std::string>());
    if (row.at("cache") == "hot") layers += row.at("time_ns").at("median").get<double>();
  }
  const json& sums = document.at("sums_ns");
  EXPECT_NEAR(layers, sums.at("layers").get<double>(), 1);
  for (const char* name : {"conv1", "conv2", "fc1", "uninstrumented", "first_call", "build"})
    EXPECT_EQ(names.count(name), 1u);
  const json trace = read_json("{dir}/out/trace.json");
  const json& events = trace.is_array() ? trace : trace.at("traceEvents");
  EXPECT_GT(events.size(), 5u);
  EXPECT_EQ(static_cast<size_t>(count_lines(read_text(expand("{dir}/out/profile.csv")))),
            document.at("results").size() + 1);
}

// The layers, timed one by one, must add up to a pass timed as a whole. A busy machine may disturb one kind of pass
// more than the other, so one undisturbed run is enough; with eight programs on two cores 18 runs were within 2 %.
TEST(Profile, LayersExplainThePass) {
  constexpr double kBound = 0.05;  // docs/measuring.md, "The sum must add up"
  double share = 0;
  for (int i = 0; i < 10 && std::abs(share - 1) > kBound; ++i) {
    expect_run(
        lenslet("profile --device cpu --batch-size 16 --min-time-ms 20 --warmup-ms 5 --threads 1 --cache "
                "hot --json {dir}/out/sums.json"),
        kOk);
    const json sums = read_json("{dir}/out/sums.json").at("sums_ns");
    share = (sums.at("layers").get<double>() - sums.at("events").get<double>()) /
            sums.at("uninstrumented").get<double>();
  }
  EXPECT_NEAR(share, 1, kBound);
}

TEST(Backends, EveryLayerHasOneAutoAndReasonsForTheRest) {
  expect_run(lenslet("backends --device cpu --json {dir}/out/backends.json --csv {dir}/out/backends.csv"),
             kOk);
  const json document = read_json("{dir}/out/backends.json");
  std::map<std::string, int> autos;
  for (const json& row : document.at("rows")) {
    autos[row.at("layer").get<std::string>()] += row.at("auto").get<bool>() ? 1 : 0;
    EXPECT_EQ(row.at("supported").get<bool>(), row.at("reason").is_null()) << row.dump();
    EXPECT_TRUE(row.at("backend") != "direct" || row.at("observed") == "bitwise") << row.dump();
    EXPECT_TRUE(row.at("backend") != "direct" || row.at("determinism") == "position") << row.dump();
    EXPECT_EQ(row.at("determinism").is_null(), !row.at("supported").get<bool>()) << row.dump();
    EXPECT_TRUE(row.at("determinism") == "bounded" || !row.at("supported").get<bool>() ||
                row.at("observed") == "bitwise")
        << row.dump();
  }
  EXPECT_GE(autos.size(), 7u);
  for (const auto& [layer, count] : autos) EXPECT_EQ(count, 1) << layer;
}

TEST(Backends, AnyProblem) {
  const ProgramRun run = expect_run(run_line("{problem} mb1ic3ih17oc5kh3sh2ph1 --json -"), kOk);
  const json rows = parse_json(run.out).at("rows");
  ASSERT_FALSE(rows.empty());
  for (const json& row : rows)
    EXPECT_NE(row.at("problem").get<std::string>().find("mb1ic3ih17"), std::string::npos);
}

TEST(Doctor, EveryBackendOfTheCpuPassesOrHasAReason) {
  expect_run(lenslet("doctor --device cpu --json {dir}/out/doctor.json --csv {dir}/out/doctor.csv"), kOk);
  const json document = read_json("{dir}/out/doctor.json");
  expect_result_rows(document.at("results"));
  for (const json& library : document.at("libs")) {
    EXPECT_FALSE(library.at("version").is_null()) << library.dump();
    EXPECT_TRUE(fs::exists(library.at("path").get<std::string>())) << library.dump();
  }
  int passed = 0;
  std::set<std::string> tested;
  for (const json& row : document.at("results")) {
    EXPECT_NE(row.at("status"), "FAILED") << row.dump();
    if (row.at("status") == "PASSED") {
      ++passed;
      tested.insert(row.at("name").get<std::string>());
      EXPECT_GT(row.at("error").at("checked").get<int>(), 0) << row.dump();
    }
  }
  EXPECT_GE(passed, 10);
  for (const char* name :
       {"cpu conv2d direct", "cpu linear direct", "cpu linear gemm", "cpu max_pool2d direct",
        "cpu avg_pool2d direct", "cpu relu direct", "cpu softmax direct", "cpu gemm blocked"}) {
    EXPECT_EQ(tested.count(name), 1u) << name;
  }
}

}  // namespace
}  // namespace lenslet::test
