// The programs on the CPU: a backend that fails in the middle, too little memory, an absent device. Earlier results are
// written and marked, and the exit code is 5. The GPU's tests are in program_gpu_test.cpp.
#include "framework/device/device.h"
#include "tests/faults/program_faults.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

ProgramRun after(int runs, const std::string& line) {
  return run_with(line, {{"LENSLET_MODULE_PATH", LENSLET_FAULTY_MODULE_DIR},
                         {"LENSLET_TEST_RUNS_BEFORE_FAULT", std::to_string(runs)}});
}

TEST(ProgramFaults, EvalNamesTheLayerAndKeepsItsImages) {
  const std::string line =
      "lenslet eval --device cpu --data {dir} --backend conv2=onednn --json {dir}/eval.json";
  expect_fault(after(0, line), "layer conv2 (onednn)|planted fault|after 0 of 40 images");
  EXPECT_EQ(marked_file("eval.json", "layer conv2").at("count"), 0);
  // The first call, then batches of 8.
  expect_fault(after(3, line + " --batch-size 8"), "layer conv2 (onednn)|after 16 of 40 images");
  const json partial = marked_file("eval.json", "planted fault");
  EXPECT_EQ(partial.at("count"), 16);
  EXPECT_EQ(partial.at("confusion").size(), 10u);
}

TEST(ProgramFaults, ClassifyKeepsItsAnswers) {
  const ProgramRun run =
      after(2,
            "lenslet classify --device cpu --backend conv2=onednn --batch-size 8 --json {dir}/classify.json "
            "--csv {dir}/classify.csv {dir}/t10k-images-idx3-ubyte");
  expect_fault(run, "layer conv2 (onednn)|planted fault");
  EXPECT_EQ(count_lines(run.out), 16) << run.out;
  EXPECT_EQ(marked_file("classify.json", "planted fault").at("results").size(), 16u);
}

TEST(ProgramFaults, TheMatrixKeepsTheRowsBeforeIt) {
  expect_fault(after(0,
                     "lenslet eval --device cpu --data {dir} --backend-matrix --backend "
                     "conv1=direct,fc1=direct,fc2=direct,fc3=direct --json {dir}/matrix.json"),
               "planted fault");
  std::map<std::string, int> statuses;
  const json document = marked_file("matrix.json", "planted fault");
  for (const json& row : document.at("rows")) ++statuses[row.at("status")];
  EXPECT_GE(statuses["PASSED"], 1);
  EXPECT_EQ(statuses["ERROR"], 1);
}

TEST(ProgramFaults, BackendsKeepsTheRowsBeforeIt) {
  expect_fault(after(1, "lenslet backends --device cpu --json {dir}/backends.json"), "planted fault");
  const json document = marked_file("backends.json", "planted fault");
  EXPECT_GE(document.at("rows").size(), 2u);
  EXPECT_EQ(document.at("rows").back().at("status"), "ERROR");
}

TEST(ProgramFaults, DoctorNamesTheWrongLayersOfANetwork) {
  const std::string line = "lenslet doctor --device cpu --json {dir}/doctor.json --model " LENSLET_SOURCE_DIR
                           "/tests/models/onnx/separable.onnx";
  const ProgramRun run = after(1000, line);
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_NE(run.out.find("FAILED: cpu /pointwise/Conv onednn"), std::string::npos) << run.out;
  const json document = result_file("doctor.json");
  for (const json& row : document.at("results"))
    EXPECT_EQ(row.at("status") == "FAILED", row.at("backend") == "onednn") << row;
  expect_fault(after(1, line), "/pointwise/Conv onednn|planted fault");
}

TEST(ProgramFaults, ProfileKeepsCeilingsAndFirstCall) {
  expect_fault(after(5,
                     "lenslet profile --device cpu --backend conv1=onednn --min-time-ms 5 --warmup-ms 0 "
                     "--json {dir}/profile.json --csv {dir}/profile.csv"),
               "layer conv1 (onednn)|planted fault");
  const json document = marked_file("profile.json", "planted fault");
  EXPECT_GT(document.at("ceilings").at("copy_bytes_per_s").get<double>(), 0);
  const json& rows = document.at("results");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("status"), "ERROR");
  EXPECT_EQ(rows[1].at("name"), "first_call");
}

TEST(ProgramFaults, DoctorNamesTheBackend) {
  const ProgramRun run = after(3, "lenslet doctor --device cpu --json {dir}/doctor.json");
  expect_run(run, kDevice, "ERROR: cpu conv2d onednn", "cpu conv2d onednn|planted fault");
  const json rows = marked_file("doctor.json", "planted fault").at("results");
  EXPECT_EQ(rows.back().at("status"), "ERROR") << "the rows before it are filed";
}

TEST(ProgramFaults, ConvbenchNamesWhatFailed) {
  expect_fault(after(0,
                     "convbench run --device cpu --backend onednn --problem mb1ic6ih12oc16kh5 --warmup-ms 0 "
                     "--min-time-ms 2 --json {dir}/bench.json"),
               "onednn|ic6ih12|planted fault");
}

constexpr int kWrongAnswers = 1'000'000'000;  // runs: the backend answers with zeros and does not fail

TEST(ProgramFaults, ProfileNamesTheFirstLayerThatIsWrongAndNoOther) {
  ::setenv("COLUMNS", "1000", 1);  // no line is wrapped
  expect_run(after(kWrongAnswers,
                   "lenslet profile --device cpu --backend conv2=onednn --batch-size 3 --cache hot "
                   "--min-time-ms 5 --warmup-ms 0 --json {dir}/wrong.json"),
             kCheckFailed,
             "FAILED: layer conv2+relu2 (onednn): output |; logits differ from the fp64 reference's");
  std::map<std::string, std::string> statuses;
  const json document = result_file("wrong.json");
  for (const json& row : document.at("results")) statuses[row.at("name")] = row.at("status");
  for (const char* right : {"conv1", "fc1", "fc2", "fc3"}) {
    EXPECT_EQ(statuses.count(right), 1u) << right;
    EXPECT_NE(statuses[right], "FAILED") << right;  // a busy machine may make it SUSPECT
  }
  EXPECT_EQ(statuses["conv2"], "FAILED");
  EXPECT_EQ(statuses["uninstrumented"], "FAILED");
}

const std::string kTune =
    "lenslet tune --device cpu --batch-size 4 --warmup-ms 0 --min-time-ms 2 --plan layered --save-plan "
    "{dir}/honest.json --json {dir}/tune.json";

// Whatever its status, the planted backend is not chosen.
void expect_not_chosen(const char* status) {
  size_t planted = 0;
  const json document = result_file("tune.json"), saved = result_file("honest.json");
  for (const json& candidate : document.at("candidates")) {
    if (candidate.at("backend") != "onednn") continue;
    ++planted;
    expect_members(candidate, {{"status", status}, {"time_ns", nullptr}, {"chosen", false}});
  }
  EXPECT_GE(planted, 2u);
  for (const json& layer : saved.at("layers")) EXPECT_NE(layer.at("backend"), "onednn");
}

TEST(ProgramFaults, AWrongBackendIsNeverChosenByTune) {
  // Writing zeros is faster than computing any convolution.
  expect_run(after(kWrongAnswers, kTune), kCheckFailed);
  expect_not_chosen("FAILED");
}

// It is there, so the check failed: exit code 1, not 4.
TEST(ProgramFaults, TuneWithWrongBackendsOnlyFailsItsCheck) {
  expect_run(after(kWrongAnswers,
                   "lenslet tune --device cpu --warmup-ms 0 --min-time-ms 2 --plan layered --backend "
                   "conv1=onednn --json {dir}/tune.json"),
             kCheckFailed, "", "no backend can be chosen for layer conv1");
  EXPECT_EQ(result_file("tune.json").at("candidates").at(0).at("status"), "FAILED");
}

TEST(ProgramFaults, TuneGoesOnWithoutABackendThatFails) {
  expect_fault(after(0, kTune), "planted fault");
  marked_file("tune.json", "planted fault");
  expect_not_chosen("ERROR");
}

ProgramRun with_memory(const std::string& limit, const std::string& line) {
  return run_with(line, {{"LENSLET_DEVICE_MEMORY_LIMIT", limit}});
}

TEST(LimitedMemory, IsExitCode6WithABatchThatFits) {
  for (const std::string plan : {"layered", "fused"}) {
    const std::string line = "lenslet eval --device cpu --data {dir} --plan " + plan + " --batch-size ";
    const std::string words = "the largest batch that fits is about ";
    const ProgramRun refused = expect_run(with_memory("16M", line + "100000"), kMemory, "",
                                          words + "|batch 100000 needs | bytes on cpu, | are free");
    const size_t at = refused.err.find(words);
    ASSERT_NE(at, std::string::npos);
    expect_run(with_memory("16M", line + std::to_string(std::stoll(refused.err.substr(at + words.size())))),
               kOk);
  }
}

TEST(LimitedMemory, OfAConvolutionIsReported) {
  expect_run(with_memory("256M",
                         "convbench run --device cpu --cache hot --backend direct --problem "
                         "mb512ic64ih64oc64kh3 --min-time-ms 1"),
             kMemory, "", "needs|are free|the largest batch that fits is about mb");
}

// For commands that wait for a layer or a GPU, and for those that do not.
TEST(Settings, AreRefusedWithTheValuesTheyTake) {
  const std::pair<const char*, const char*> settings[] = {
      {"LENSLET_CHECK_LAYERS", "LENSLET_CHECK_LAYERS must be 0 or 1, found 'junk'"},
      {"LENSLET_TRACE", "LENSLET_TRACE must be 0 or 1, found 'junk'"},
      {"LENSLET_DEVICE_TIMEOUT", "LENSLET_DEVICE_TIMEOUT must be seconds"},
      {"LENSLET_DEVICE_MEMORY_LIMIT", "LENSLET_DEVICE_MEMORY_LIMIT expects bytes"}};
  for (const char* line : {"lenslet eval --device cpu --data {dir}", "lenslet doctor --device cpu",
                           "lenslet backends --device cpu",
                           "convbench run --device cpu --problem mb1ic1ih5oc1kh3 --backend direct"}) {
    for (const auto& [name, words] : settings)
      expect_run(run_with(line, {{name, "junk"}}), kUsage, "", words);
  }
  expect_run(run_with("lenslet eval --help", {{"LENSLET_CHECK_LAYERS", "junk"}}), kOk);
  for (const char* text : {"", "0", "-1", "1e6", "64MB"})
    expect_run(with_memory(text, "lenslet profile --device cpu"), kUsage, "", settings[3].second);
  const std::string eval = "lenslet eval --device cpu --data {dir}";
  for (const char* text : {"", "2", "yes"})
    expect_run(run_with(eval, {{"LENSLET_CHECK_LAYERS", text}}), kUsage, "",
               "LENSLET_CHECK_LAYERS must be 0 or 1");
  expect_run(run_with(eval, {{"LENSLET_CHECK_LAYERS", "1"}}), kOk);
  for (const char* line : {"lenslet doctor --device cpu",
                           "convbench run --device cpu --problem mb1ic1ih5oc1kh3 --backend direct"})
    expect_run(run_with(line, {{"LENSLET_UNPOISONED", "junk"}}), kUsage, "",
               "LENSLET_UNPOISONED must be 0 or 1, found 'junk'");
}

TEST(MissingDevice, IsRefusedByNameAndAutoStatesWhyItTookTheCpu) {
  // Also on a machine with a GPU, which is hidden.
  const std::map<std::string, std::string> hidden = {{"CUDA_VISIBLE_DEVICES", ""}};
  const std::string line = "lenslet eval --data {dir} --device ";
  for (const char* device : {"cuda", "cuda:0", "cuda:1"})
    expect_run(run_with(line + device, hidden), kUnavailable, "", "is unavailable|use device cpu");
  const ProgramRun served = expect_run(run_with(line + "auto", hidden), kOk, " on cpu (");
  const bool says_why = served.out.find("no NVIDIA driver") != std::string::npos ||
                        served.out.find("CUDA_VISIBLE_DEVICES") != std::string::npos ||
                        served.out.find("without CUDA") != std::string::npos;
  EXPECT_TRUE(says_why) << served.out;
}

}  // namespace
}  // namespace lenslet::test
