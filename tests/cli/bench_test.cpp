// lenslet bench on the CPU: rows, files, exit codes. Times are not judged here.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

// Element types in and out that the fused plan has.
const std::set<std::string> kTensors = {"fp32 logits", "fp32 prediction", "uint8 logits", "uint8 prediction"};

constexpr const char* kQuick = " --device cpu --min-time-ms 1 --warmup-ms 0 ";

json read_json(const std::string& path) {
  std::ifstream file(expand(path));
  return json::parse(file);
}

ProgramRun bench(const std::string& arguments, ProgramOptions options = {}) {
  return lenslet("bench" + (kQuick + arguments), options);
}

TEST(Bench, ARowForEachConfigurationVerifiedAndCounted) {
  const ProgramRun run = bench(
      "--batch-sizes 1,3 --plan layered --input fp32 --output logits --data {dir}/data --json "
      "{dir}/out/bench.json --csv {dir}/out/bench.csv");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const json document = read_json("{dir}/out/bench.json");
  EXPECT_EQ(document.at("schema"), "lenslet.results/1");
  EXPECT_EQ(document.at("tool"), "lenslet bench");
  EXPECT_EQ(document.at("status"), "COMPLETE");
  EXPECT_EQ(document.at("settings").at("pictures"), "MNIST");
  ASSERT_EQ(document.at("results").size(), 2u);
  const int batches[] = {1, 3};
  for (size_t i = 0; i < 2; ++i) {
    const json& row = document.at("results")[i];
    const json& labels = row.at("labels");
    EXPECT_EQ(labels.at("batch"), std::to_string(batches[i]));
    EXPECT_EQ(labels.at("plan"), "layered");
    EXPECT_EQ(labels.at("variant"), "");
    EXPECT_EQ(labels.at("input"), "fp32");
    EXPECT_EQ(labels.at("output"), "logits");
    EXPECT_EQ(row.at("cache"), "hot");
    EXPECT_GE(row.at("samples").get<int>(), 20);
    const double median = row.at("time_ns").at("median");
    EXPECT_NEAR(row.at("images_per_s").get<double>() * median / 1e9, batches[i], 1e-6 * batches[i]);
    EXPECT_EQ(row.at("error").at("checked").get<int>() % (10 * batches[i]), 0) << "all slots are judged";
    EXPECT_LE(row.at("error").at("max_abs").get<double>(), row.at("error").at("bound").get<double>());
    const json& accuracy = row.at("accuracy");
    EXPECT_EQ(accuracy.at("count"), 20);
    EXPECT_EQ(accuracy.at("correct"), accuracy.at("fp32_correct"));
    EXPECT_EQ(accuracy.at("differing"), 0);
    EXPECT_NE(row.at("repro").get<std::string>().find("lenslet bench --device cpu --batch-sizes"),
              std::string::npos);
  }
}

TEST(Bench, TheCommandOfARowMeasuresThatRow) {
  const ProgramRun first = bench("--batch-sizes 2 --plan layered --json -");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const json row = json::parse(first.out).at("results").at(0);
  std::string command = row.at("repro").get<std::string>();
  ASSERT_EQ(command.rfind("lenslet ", 0), 0u) << command;
  command.erase(0, std::string("lenslet ").size());
  const ProgramRun again = lenslet(command + " --min-time-ms 1 --warmup-ms 0 --json -");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const json rows = json::parse(again.out).at("results");
  ASSERT_EQ(rows.size(), 1u);
  for (const char* key : {"name", "backend", "math", "cache", "labels", "repro"})
    EXPECT_EQ(rows[0].at(key), row.at(key)) << key;
}

TEST(Bench, EverySupportedCombinationOfTheFusedPlanHasARow) {
  const ProgramRun run = bench("--batch-sizes 5 --plan fused --backend all --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::set<std::string> seen, tensors;
  const json rows = json::parse(run.out).at("results");
  for (const json& row : rows) {
    EXPECT_EQ(row.at("labels").at("plan"), "fused");
    EXPECT_EQ(row.at("labels").at("variant"), row.at("backend"));
    EXPECT_TRUE(seen.insert(row.at("labels").dump() + row.at("math").dump()).second) << row.dump();
    if (row.at("status") == "UNSUPPORTED") {
      EXPECT_FALSE(row.at("reason").is_null()) << row.dump();
      continue;
    }
    EXPECT_TRUE(row.at("status") == "PASSED" || row.at("status") == "SUSPECT") << row.dump();
    EXPECT_GE(row.at("samples").get<int>(), 20);
    tensors.insert(row.at("labels").at("input").get<std::string>() + " " +
                   row.at("labels").at("output").get<std::string>());
  }
  EXPECT_EQ(tensors, kTensors);
}

TEST(Bench, WithoutMnistDigitsAreDrawnAndNothingIsCounted) {
  ProgramOptions options;
  options.folder = fixture_folder() + "/away";
  const ProgramRun run = bench("--batch-sizes 2 --plan layered --json -", options);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("drawn: no MNIST here"), std::string::npos) << run.err;
  const json document = json::parse(run.out);
  EXPECT_EQ(document.at("settings").at("pictures"), "drawn");
  EXPECT_TRUE(document.at("results")[0].at("accuracy").is_null());
}

TEST(Bench, LatencyTimesSingleCalls) {
  const ProgramRun run = bench(
      "--latency --calls 50 --batch-sizes 1,2 --plan layered --threads 1 --json {dir}/out/latency.json");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const json rows = read_json("{dir}/out/latency.json").at("results");
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) {
    EXPECT_EQ(row.at("name"), "latency");
    EXPECT_EQ(row.at("labels").at("mode"), "call");
    EXPECT_EQ(row.at("samples"), 50);
    EXPECT_GE(row.at("p99_ns").get<double>(), row.at("time_ns").at("p90").get<double>());
    EXPECT_LE(row.at("p99_ns").get<double>(), row.at("time_ns").at("max").get<double>());
    EXPECT_GT(row.at("stages_ns").at("cpu").get<double>(), 0);
  }
}

TEST(Bench, ColdRowsStandBesideHotOnes) {
  const ProgramRun run = bench("--batch-sizes 1 --plan layered --cache both --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json rows = json::parse(run.out).at("results");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("cache"), "hot");
  EXPECT_EQ(rows[1].at("cache"), "cold");
}

TEST(Bench, LogitsThatAreNotNumbersAreACheckThatFailed) {
  const ProgramRun run = bench(
      "--batch-sizes 1 --plan layered --weights {dir}/w/largest.safetensors --json {dir}/out/bench_nan.json");
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  const json row = read_json("{dir}/out/bench_nan.json").at("results").at(0);
  EXPECT_EQ(row.at("status"), "FAILED");
  EXPECT_TRUE(row.at("time_ns").is_null()) << "what is wrong has no time";
}

// Later and later, until it comes when the ceilings are measured and the first configurations are under way. A run of
// 1,024 images takes milliseconds, so that even a fast machine needs longer than the waits for all of its samples.
TEST(Bench, AnInterruptLeavesValidFiles) {
  for (const double wait_s : {4.0, 8.0, 16.0, 32.0}) {
    ProgramOptions options;
    options.interrupt_after_s = wait_s;
    const ProgramRun run = lenslet(
        "bench --device cpu --plan layered --batch-sizes 1024,2048 --min-time-ms 3600000 --warmup-ms 0 "
        "--json "
        "{dir}/out/bench_int.json",
        options);
    EXPECT_EQ(run.exit_code, 130) << run.err;
    EXPECT_LT(run.seconds, wait_s + 60);
    std::ifstream file(expand("{dir}/out/bench_int.json"));
    if (!file) continue;  // it was still measuring ceilings: nothing to write
    const json document = json::parse(file);
    EXPECT_TRUE(document.at("interrupted").get<bool>());
    EXPECT_EQ(document.at("status"), "INTERRUPTED");
    ASSERT_FALSE(document.at("results").empty());
    for (const json& row : document.at("results")) {
      EXPECT_EQ(row.at("labels").at("batch"), "1024") << "no other batch was begun";
      if (row.at("status") == "PASSED") continue;  // of a row that had its samples
      EXPECT_EQ(row.at("status"), "SKIPPED") << row.dump();
      EXPECT_NE(row.at("reason").get<std::string>().find("interrupted"), std::string::npos) << row.dump();
      EXPECT_TRUE(row.at("time_ns").is_null());
    }
    return;
  }
  FAIL() << "no interrupt in 32 s came after the ceilings were measured";
}

}  // namespace
}  // namespace lenslet::test
