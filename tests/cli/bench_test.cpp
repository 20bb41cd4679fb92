// lenslet bench on the CPU: rows, files, exit codes. Times are not checked.
#include <set>

#include "tests/cli/fixtures/files.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

// Input and output types of the whole-network plan.
const std::set<std::string> kTensors = {"fp32 logits", "fp32 prediction", "uint8 logits", "uint8 prediction"};

constexpr const char* kQuick = " --device cpu --min-time-ms 1 --warmup-ms 0 ";

ProgramRun bench(const std::string& arguments, const ProgramOptions& options = {}) {
  return lenslet("bench" + (kQuick + arguments), options);
}

json rows_of(const std::string& arguments) {
  return parse_json(expect_run(bench(arguments + " --json -"), kOk).out).at("results");
}

TEST(Bench, ARowForEachConfigurationVerifiedAndCounted) {
  expect_run(bench("--batch-sizes 1,3 --plan layered --input fp32 --output logits --data {dir}/data --json "
                   "{dir}/out/bench.json --csv {dir}/out/bench.csv"),
             kOk);
  const json document = read_json("{dir}/out/bench.json");
  expect_members(document,
                 {{"schema", "lenslet.results/1"}, {"tool", "lenslet bench"}, {"status", "COMPLETE"}});
  EXPECT_EQ(document.at("settings").at("samples"), "MNIST");
  ASSERT_EQ(document.at("results").size(), 2u);
  const int batches[] = {1, 3};
  for (size_t i = 0; i < 2; ++i) {
    const json& row = document.at("results")[i];
    expect_members(row.at("labels"), {{"batch", std::to_string(batches[i])},
                                      {"plan", "layered"},
                                      {"input", "fp32"},
                                      {"output", "logits"},
                                      {"place", "device"}});
    EXPECT_EQ(row.at("cache"), "hot");
    EXPECT_GE(row.at("samples").get<int>(), 20);
    const double median = row.at("time_ns").at("median");
    EXPECT_NEAR(row.at("images_per_s").get<double>() * median / 1e9, batches[i], 1e-6 * batches[i]);
    EXPECT_EQ(row.at("error").at("checked").get<int>() % (10 * batches[i]), 0) << "all slots are judged";
    EXPECT_LE(row.at("error").at("max_abs").get<double>(), row.at("error").at("bound").get<double>());
    const json& accuracy = row.at("accuracy");
    expect_members(accuracy, {{"count", 20}, {"correct", accuracy.at("fp32_correct")}, {"differing", 0}});
    expect_words(row.at("repro"), "lenslet bench --device cpu --batch-sizes");
  }
}

TEST(Bench, AnyNetworkIsTimedAndVerified) {
  const std::string model = " --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx ";
  for (const std::string options : {"", " --latency --calls 20"}) {
    for (const json& row : rows_of(model + "--batch-sizes 1,3" + options)) {
      EXPECT_EQ(row.at("status"), "PASSED") << row;
      expect_members(row.at("labels"), {{"plan", "layered"}, {"input", "fp32"}});
      EXPECT_LE(row.at("error").at("max_abs").get<double>(), row.at("error").at("bound").get<double>());
      EXPECT_GT(row.at("error").at("checked").get<int>(), 0);
      EXPECT_TRUE(row.at("accuracy").is_null()) << "its classes are no digits";
      expect_words(row.at("repro"), "lenslet bench --device cpu --model|mean_pool.onnx");
    }
  }
}

TEST(Bench, TheCommandOfARowMeasuresThatRow) {
  const json row = rows_of("--batch-sizes 2 --plan layered").at(0);
  const std::string command = row.at("repro");
  ASSERT_EQ(command.rfind("lenslet ", 0), 0u) << command;
  const ProgramRun again = expect_run(run_line(command + " --min-time-ms 1 --warmup-ms 0 --json -"), kOk);
  const json rows = parse_json(again.out).at("results");
  ASSERT_EQ(rows.size(), 1u);
  for (const char* key : {"name", "backend", "math", "cache", "labels", "repro"})
    EXPECT_EQ(rows[0].at(key), row.at(key)) << key;
}

TEST(Bench, EverySupportedCombinationOfTheFusedPlanHasARow) {
  std::set<std::string> seen, tensors;
  const json rows = rows_of("--batch-sizes 5 --plan fused --backend all");
  for (const json& row : rows) {
    EXPECT_EQ(row.at("labels").at("plan"), "fused");
    const std::string what = row.at("backend").dump() + row.at("labels").dump() + row.at("math").dump();
    EXPECT_TRUE(seen.insert(what).second) << what;
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

// A call of Model from ordinary memory stands below the pass of the same configuration, verified and counted as it is.
TEST(Bench, HostRowsStandBesideDeviceOnes) {
  const std::string options =
      "--batch-sizes 3,1030 --plan fused --input uint8,uint4 --output logits,prediction --data {dir}/data ";
  const json rows = rows_of(options);
  ASSERT_EQ(rows.size(), 12u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const json &row = rows[i], &labels = row.at("labels");
    const bool host = i % 3 == 2;  // logits; predictions device, host
    SCOPED_TRACE(labels.dump());
    EXPECT_TRUE(row.at("status") == "PASSED" || row.at("status") == "SUSPECT") << row.dump();
    EXPECT_EQ(labels.at("place"), host ? "host" : "device");
    EXPECT_EQ(labels.at("input"), i / 3 % 2 == 0 ? "uint8" : "uint4");
    EXPECT_EQ(labels.at("output"), i % 3 == 0 ? "logits" : "prediction");
    EXPECT_GE(row.at("samples").get<int>(), 20);
    EXPECT_EQ(row.at("images"), i < 6 ? 3 : 1030);
    EXPECT_EQ(row.at("accuracy").at("count"), 20);
    expect_words(row.at("repro"), host ? "--place host" : "--place device");
    if (!host) continue;
    const json& pass = rows[i - 1];
    for (const char* key : {"backend", "math", "accuracy", "flops", "bytes_ideal"})
      EXPECT_EQ(row.at(key), pass.at(key)) << key;
    EXPECT_GT(row.at("error").at("checked").get<int>(), 0);
  }
  EXPECT_EQ(rows[2].at("bytes_ideal").get<double>() - rows[5].at("bytes_ideal").get<double>(), 3 * 392);
  const json hosts = rows_of("--batch-sizes 3 --place host --input uint4,fp32");
  ASSERT_EQ(hosts.size(), 1u);
  expect_members(hosts[0].at("labels"), {{"place", "host"}, {"input", "uint4"}, {"output", "prediction"}});
  const json passes = rows_of("--batch-sizes 3 --place device --plan fused --input uint8");
  EXPECT_EQ(passes.size(), 2u);
  const std::string command = hosts[0].at("repro");
  const json again =
      parse_json(expect_run(run_line(command + " --min-time-ms 1 --warmup-ms 0 --json -"), kOk).out);
  ASSERT_EQ(again.at("results").size(), 1u);
  EXPECT_EQ(again.at("results")[0].at("labels"), hosts[0].at("labels"));
}

TEST(Bench, ASavedPlanIsTimedInBothPlaces) {
  expect_run(
      lenslet(
          "profile --device cpu --plan fused --input uint8 --output prediction --batch-size 3 --cache hot "
          "--min-time-ms 1 --warmup-ms 0 --save-plan {dir}/out/bytes_to_classes.json"),
      kOk);
  const json rows = rows_of("--batch-sizes 3 --plan {dir}/out/bytes_to_classes.json --cache both");
  ASSERT_EQ(rows.size(), 4u);
  const char* const places[] = {"device", "device", "host", "host"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].at("labels").at("place"), places[i]);
    EXPECT_EQ(rows[i].at("cache"), i % 2 == 0 ? "hot" : "cold");
    EXPECT_NE(rows[i].at("status"), "FAILED") << rows[i];
  }
}

TEST(Bench, WithoutMnistDigitsAreDrawnAndNothingIsCounted) {
  ProgramOptions options;
  options.folder = fixture_folder() + "/away";
  const ProgramRun run =
      expect_run(bench("--batch-sizes 2 --plan layered --json -", options), kOk, "", "drawn: no MNIST here");
  const json document = parse_json(run.out);
  EXPECT_EQ(document.at("settings").at("samples"), "drawn");
  EXPECT_TRUE(document.at("results")[0].at("accuracy").is_null());
}

TEST(Bench, LatencyTimesSingleCalls) {
  const json rows = rows_of("--latency --calls 50 --batch-sizes 1,2 --plan layered --threads 1");
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
  const json rows = rows_of("--batch-sizes 1 --plan layered --cache both");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("cache"), "hot");
  EXPECT_EQ(rows[1].at("cache"), "cold");
}

TEST(Bench, LogitsThatAreNotNumbersAreACheckThatFailed) {
  const ProgramRun run = expect_run(
      bench("--batch-sizes 1 --plan layered --weights {dir}/w/largest.safetensors --json -"), kCheckFailed);
  const json row = parse_json(run.out).at("results").at(0);
  EXPECT_EQ(row.at("status"), "FAILED");
  EXPECT_TRUE(row.at("time_ns").is_null()) << "what is wrong has no time";
}

// The ceilings are printed before the first configuration is measured.
// Whether anything can run is known before anything is measured.
TEST(Bench, WhatCannotRunMeasuresNoCeilings) {
  const std::string file = "{dir}/out/cannot.json";
  for (const char* line :
       {"lenslet bench --device cpu --math fp16 --batch-sizes 1 --json ",
        "lenslet tune --device cpu --math fp16 --json ", "{bench} ic1ih28oc1kh3 --math tf32 --json ",
        "convbench sweep --device cpu --sizes 16 --strides 1 --out-channels 3 --backend depthwise "
        "--json "}) {
    const ProgramRun run = expect_run(run_line(line + file), kUnavailable);
    EXPECT_EQ(run.out.find("ceilings measured now"), std::string::npos) << run.out;
    const json document = read_json(file);
    EXPECT_TRUE(document.value("ceilings", json()).is_null()) << document;
    for (const json& row : document.value("results", json::array()))
      EXPECT_EQ(row.at("status"), "UNSUPPORTED") << row;
  }
}

TEST(Bench, AnUnknownBackendIsRefusedBeforeTheFirstLine) {
  for (const char* line : {"{bench} ic1ih8oc1kh1 --backend foo", "convbench sweep --device cpu --backend foo",
                           "convbench separable --device cpu --backend foo"})
    EXPECT_EQ(expect_run(run_line(line), kUsage, "", "no conv backend 'foo'").out, "") << line;
}

TEST(Bench, AnInterruptLeavesValidFiles) {
  ProgramOptions options;
  options.interrupt_when = after_printing("ceilings");
  expect_run(
      lenslet("bench --device cpu --plan layered --batch-sizes 4096,8192 --min-time-ms 3600000 --warmup-ms 0 "
              "--json {dir}/out/bench_int.json",
              options),
      kInterrupted);
  const json document = read_json("{dir}/out/bench_int.json");
  expect_members(document, {{"interrupted", true}, {"status", "INTERRUPTED"}});
  ASSERT_FALSE(document.at("results").empty());
  for (const json& row : document.at("results")) {
    EXPECT_EQ(row.at("labels").at("batch"), "4096") << "no other batch was begun";
    if (row.at("status") == "PASSED") continue;  // for a row with all its samples
    EXPECT_EQ(row.at("status"), "SKIPPED") << row.dump();
    expect_words(row.at("reason"), "interrupted");
    EXPECT_TRUE(row.at("time_ns").is_null());
  }
}

}  // namespace
}  // namespace lenslet::test
