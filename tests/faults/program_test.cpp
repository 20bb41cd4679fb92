// The programs on the CPU: a backend that fails half-way, too little memory, a device that is not there. The GPU's side
// is program_gpu_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "framework/device.h"
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
  expect_fault(after(0, line), {"layer conv2 (onednn)", "planted fault", "after 0 of 40 images"});
  EXPECT_EQ(marked_file("eval.json", "layer conv2").at("count"), 0);
  // The first call, then batches of 8.
  expect_fault(after(3, line + " --batch-size 8"), {"layer conv2 (onednn)", "after 16 of 40 images"});
  const json partial = marked_file("eval.json", "planted fault");
  EXPECT_EQ(partial.at("count"), 16);
  EXPECT_EQ(partial.at("confusion").size(), 10u);
}

TEST(ProgramFaults, ClassifyKeepsItsAnswers) {
  const ProgramRun run =
      after(2,
            "lenslet classify --device cpu --backend conv2=onednn --batch-size 8 --json {dir}/classify.json "
            "--csv {dir}/classify.csv {dir}/t10k-images-idx3-ubyte");
  expect_fault(run, {"layer conv2 (onednn)", "planted fault"});
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 16) << run.out;
  EXPECT_EQ(marked_file("classify.json", "planted fault").at("results").size(), 16u);
}

TEST(ProgramFaults, ProfileTuneAndConvbenchNameWhatFailed) {
  expect_fault(
      after(0,
            "lenslet profile --device cpu --backend conv2=onednn --min-time-ms 5 --warmup-ms 0 --json "
            "{dir}/profile.json"),
      {"layer conv2 (onednn)"});
  marked_file("profile.json", "layer conv2 (onednn)");
  expect_fault(
      after(0,
            "lenslet tune --device cpu --batch-size 4 --plan layered --warmup-ms 0 --min-time-ms 2 --json "
            "{dir}/tune.json"),
      {"planted fault"});
  marked_file("tune.json", "planted fault");
  expect_fault(after(0,
                     "convbench run --device cpu --backend onednn --problem mb1ic6ih12oc16kh5 --warmup-ms 0 "
                     "--min-time-ms 2 --json {dir}/bench.json"),
               {"onednn", "ic6ih12", "planted fault"});
}

// A backend that answers with zeros and does not fail: the profile names its layer, and no other.
TEST(ProgramFaults, ProfileNamesTheFirstLayerThatIsWrong) {
  const ProgramRun run =
      after(1'000'000'000,
            "lenslet profile --device cpu --backend conv2=onednn --batch-size 3 --cache hot "
            "--min-time-ms 5 --warmup-ms 0 --json {dir}/wrong.json");
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("FAILED: layer conv2 (onednn): output "), std::string::npos) << run.out;
  std::ifstream file(faults_folder() + "/wrong.json");
  std::map<std::string, std::string> statuses;
  const json document = json::parse(file);
  for (const json& row : document.at("results")) statuses[row.at("name")] = row.at("status");
  for (const char* right : {"conv1", "fc1", "fc2", "fc3"}) {
    EXPECT_EQ(statuses.count(right), 1u) << right;
    EXPECT_NE(statuses[right], "FAILED") << right;  // a busy machine may make it SUSPECT
  }
  EXPECT_EQ(statuses["conv2"], "FAILED");
  EXPECT_EQ(statuses["unprofiled"], "FAILED");
}

class LimitedMemory : public testing::Test {
 protected:
  static ProgramRun run(const std::string& limit, const std::string& line) {
    return run_with(line, {{"LENSLET_DEVICE_MEMORY_LIMIT", limit}});
  }
};

TEST_F(LimitedMemory, IsExitCode6WithABatchThatFits) {
  for (const char* plan : {"layered", "fused"}) {
    const std::string line = std::string("lenslet eval --device cpu --data {dir} --plan ") + plan;
    const ProgramRun refused = run("16M", line + " --batch-size 100000");
    EXPECT_EQ(refused.exit_code, 6) << refused.out << refused.err;
    const std::string words = "the largest batch that fits is about ";
    const size_t at = refused.err.find(words);
    ASSERT_NE(at, std::string::npos) << refused.err;
    for (const char* part : {"batch 100000 needs ", " bytes on cpu, ", " are free"}) {
      EXPECT_NE(refused.err.find(part), std::string::npos) << refused.err;
    }
    const std::string batch = std::to_string(std::stoll(refused.err.substr(at + words.size())));
    const ProgramRun served = run("16M", line + " --batch-size " + batch);
    EXPECT_EQ(served.exit_code, 0) << batch << ": " << served.err;
  }
}

TEST_F(LimitedMemory, OfAConvolutionIsTold) {
  const ProgramRun refused = run("256M",
                                 "convbench run --device cpu --cache hot --backend direct --problem "
                                 "mb512ic64ih64oc64kh3 --min-time-ms 1");
  EXPECT_EQ(refused.exit_code, 6) << refused.out << refused.err;
  EXPECT_NE(refused.err.find("needs"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("are free"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("the largest batch that fits is about mb"), std::string::npos) << refused.err;
}

TEST_F(LimitedMemory, MustBeANumberOfBytes) {
  for (const char* text : {"", "0", "-1", "1e6", "64MB", "lots"}) {
    const ProgramRun refused = run(text, "lenslet profile --device cpu");
    EXPECT_EQ(refused.exit_code, 2) << text << refused.err;
    EXPECT_NE(refused.err.find("LENSLET_DEVICE_MEMORY_LIMIT expects bytes"), std::string::npos)
        << refused.err;
  }
}

// Whether or not the command waits for a layer or a GPU.
TEST(Settings, AreRefusedWithTheValuesTheyTake) {
  const std::pair<const char*, const char*> settings[] = {
      {"LENSLET_CHECK_LAYERS", "LENSLET_CHECK_LAYERS must be 0 or 1, found 'junk'"},
      {"LENSLET_TRACE", "LENSLET_TRACE must be 0 or 1, found 'junk'"},
      {"LENSLET_DEVICE_TIMEOUT", "LENSLET_DEVICE_TIMEOUT must be seconds"},
      {"LENSLET_DEVICE_MEMORY_LIMIT", "LENSLET_DEVICE_MEMORY_LIMIT expects bytes"}};
  for (const char* line : {"lenslet eval --device cpu --data {dir}", "lenslet doctor --device cpu",
                           "lenslet backends --device cpu",
                           "convbench run --device cpu --problem mb1ic1ih5oc1kh3 --backend direct"}) {
    for (const auto& [name, words] : settings) {
      const ProgramRun refused = run_with(line, {{name, "junk"}});
      EXPECT_EQ(refused.exit_code, 2) << line << " with " << name << ": " << refused.out << refused.err;
      EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
    }
  }
  EXPECT_EQ(run_with("lenslet eval --help", {{"LENSLET_CHECK_LAYERS", "junk"}}).exit_code, 0);
}

TEST(CheckLayers, IsYesOrNo) {
  for (const char* text : {"", "2", "yes"}) {
    const ProgramRun refused =
        run_with("lenslet eval --device cpu --data {dir}", {{"LENSLET_CHECK_LAYERS", text}});
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_NE(refused.err.find("LENSLET_CHECK_LAYERS must be 0 or 1"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(run_with("lenslet eval --device cpu --data {dir}", {{"LENSLET_CHECK_LAYERS", "1"}}).exit_code, 0);
}

TEST(MissingDevice, IsRefusedByNameAndAutoSaysWhyItTookTheCpu) {
  // Also where there is a GPU: it is hidden.
  const std::map<std::string, std::string> hidden = {{"CUDA_VISIBLE_DEVICES", ""}};
  const std::string line = "lenslet eval --data {dir} --device ";
  for (const char* device : {"cuda", "cuda:0", "cuda:1"}) {
    const ProgramRun refused = run_with(line + device, hidden);
    EXPECT_EQ(refused.exit_code, 4) << refused.out << refused.err;
    EXPECT_NE(refused.err.find("is unavailable"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("use --device cpu"), std::string::npos) << refused.err;
  }
  const ProgramRun served = run_with(line + "auto", hidden);
  EXPECT_EQ(served.exit_code, 0) << served.err;
  const bool says_why = served.out.find("no NVIDIA driver") != std::string::npos ||
                        served.out.find("CUDA_VISIBLE_DEVICES") != std::string::npos ||
                        served.out.find("without CUDA") != std::string::npos;
  EXPECT_TRUE(served.out.find(" on cpu (") != std::string::npos && says_why) << served.out;
}

}  // namespace
}  // namespace lenslet::test
