// A device that fails half-way: what was measured before is written, marked, and the exit code is 5.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

ProgramRun with_fault_after(int runs, const std::string& arguments) {
  ProgramOptions options;
  options.environment = {{"LENSLET_MODULE_PATH", LENSLET_FAULTY_MODULE_DIR},
                         {"LENSLET_TEST_RUNS_BEFORE_FAULT", std::to_string(runs)}};
  return lenslet(arguments, options);
}

json marked_file(const std::string& path) {
  std::ifstream file(expand(path));
  json document = json::parse(file);
  EXPECT_EQ(document.at("status"), "ERROR");
  EXPECT_NE(document.at("reason").get<std::string>().find("planted fault"), std::string::npos);
  return document;
}

void expect_exit_5(const ProgramRun& run) {
  EXPECT_EQ(run.exit_code, 5) << run.out << run.err;
  EXPECT_NE(run.err.find("planted fault"), std::string::npos) << run.err;
}

TEST(DeviceFault, TheMatrixKeepsTheRowsBeforeIt) {
  expect_exit_5(
      with_fault_after(0,
                       "eval --device cpu --data {dir}/data --backend-matrix --backend "
                       "conv1=direct,fc1=direct,fc2=direct,fc3=direct --json {dir}/out/fault_matrix.json"));
  const json document = marked_file("{dir}/out/fault_matrix.json");
  int passed = 0, errors = 0;
  for (const json& row : document.at("rows")) {
    passed += row.at("status") == "PASSED" ? 1 : 0;
    errors += row.at("status") == "ERROR" ? 1 : 0;
  }
  EXPECT_GE(passed, 1);
  EXPECT_EQ(errors, 1);
}

TEST(DeviceFault, BackendsKeepsTheRowsBeforeIt) {
  expect_exit_5(with_fault_after(1, "backends --device cpu --json {dir}/out/fault_backends.json"));
  const json document = marked_file("{dir}/out/fault_backends.json");
  EXPECT_GE(document.at("rows").size(), 2u);
  EXPECT_EQ(document.at("rows").back().at("status"), "ERROR");
}

TEST(DeviceFault, ProfileKeepsCeilingsAndFirstCall) {
  expect_exit_5(with_fault_after(5,
                                 "profile --device cpu --backend conv1=onednn --min-time-ms 5 --warmup-ms 0 "
                                 "--json {dir}/out/fault_profile.json --csv {dir}/out/fault_profile.csv"));
  const json document = marked_file("{dir}/out/fault_profile.json");
  EXPECT_GT(document.at("ceilings").at("copy_bytes_per_s").get<double>(), 0);
  const json& rows = document.at("results");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("status"), "ERROR");
  EXPECT_EQ(rows[1].at("name"), "first_call");
}

TEST(DeviceFault, DoctorTellsWhichBackend) {
  const ProgramRun run = with_fault_after(3, "doctor --device cpu --json {dir}/out/fault_doctor.json");
  EXPECT_EQ(run.exit_code, 5) << run.out << run.err;
  EXPECT_NE(run.out.find("ERROR: cpu conv2d onednn"), std::string::npos) << run.out;
}

TEST(DeviceFault, AWrongAnswerFailsTheProfile) {
  // A backend that writes zeros: right for nothing.
  const ProgramRun run = with_fault_after(
      1 << 30, "profile --device cpu --backend conv1=onednn --cache hot --min-time-ms 5 --warmup-ms 0");
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("FAILED: layer conv1 (onednn): output "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("; logits differ from the fp64 reference's"), std::string::npos) << run.out;
}

constexpr const char* kTune =
    "tune --device cpu --batch-size 4 --warmup-ms 0 --min-time-ms 2 --plan layered --save-plan "
    "{dir}/out/honest.json --json "
    "{dir}/out/fault_tune.json";

// Whatever became of the planted backend, it is not chosen.
void expect_not_chosen(const char* status) {
  std::ifstream result(expand("{dir}/out/fault_tune.json")), plan(expand("{dir}/out/honest.json"));
  size_t planted = 0;
  const json document = json::parse(result);
  for (const json& candidate : document.at("candidates")) {
    if (candidate.at("backend") != "onednn") continue;
    ++planted;
    EXPECT_EQ(candidate.at("status"), status);
    EXPECT_TRUE(candidate.at("time_ns").is_null()) << "it has a time";
    EXPECT_FALSE(candidate.at("chosen").get<bool>());
  }
  EXPECT_GE(planted, 2u);
  const json saved = json::parse(plan);
  for (const json& layer : saved.at("layers")) EXPECT_NE(layer.at("backend"), "onednn");
}

TEST(DeviceFault, AWrongBackendIsNeverChosenByTune) {
  // Zeros are written faster than any convolution is computed.
  const ProgramRun run = with_fault_after(1 << 30, kTune);
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  expect_not_chosen("FAILED");
}

TEST(DeviceFault, TuneGoesOnWithoutABackendThatFails) {
  expect_exit_5(with_fault_after(0, kTune));
  marked_file("{dir}/out/fault_tune.json");
  expect_not_chosen("ERROR");
}

}  // namespace
}  // namespace lenslet::test
