// convbench from outside, on the CPU: what run, sweep and their files give, and what each mistake gets.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/support/subprocess.h"

namespace lenslet::test {
namespace {

using Json = nlohmann::json;
constexpr int kData = 3, kInterrupted = 130;
constexpr const char* kSmall = "mb1ic3ih32oc3kh3ph1";

class ConvbenchTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("convbench_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  Json json(const std::string& name) const {
    std::ifstream file(path(name));
    return Json::parse(file);
  }
  static ProgramRun run(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
    arguments.insert(arguments.begin(), LENSLET_CONVBENCH);
    return run_program(arguments, options);
  }
  /// On the CPU, for a moment.
  static ProgramRun bench(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
    for (const char* more : {"--device", "cpu", "--min-time-ms", "2", "--warmup-ms", "0"})
      arguments.push_back(more);
    return run(std::move(arguments), options);
  }

  std::filesystem::path folder_;
};

TEST_F(ConvbenchTest, RunGivesEveryBackendARow) {
  const ProgramRun result = bench(
      {"run", "--problem", kSmall, "--layout", "both", "--json", path("r.json"), "--csv", path("r.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("mb1ic3ih32oc3oh32kh3ph1"), std::string::npos) << result.out;
  const Json file = json("r.json");
  EXPECT_EQ(file["schema"], "lenslet.results/1");
  EXPECT_EQ(file["tool"], "convbench run");
  EXPECT_EQ(file["status"], "COMPLETE");
  int passed = 0, unsupported = 0;
  for (const Json& row : file["results"]) {
    EXPECT_EQ(row["problem"], "mb1ic3ih32oc3oh32kh3ph1");
    if (row["status"] == "UNSUPPORTED") {
      EXPECT_NE(row["reason"], nullptr);
      EXPECT_EQ(row["time_ns"], nullptr);
      ++unsupported;
      continue;
    }
    EXPECT_TRUE(row["status"] == "PASSED" || row["status"] == "SUSPECT") << row;
    ++passed;
    EXPECT_GT(row["time_ns"]["median"], 0);
    EXPECT_LE(row["time_ns"]["p10"], row["time_ns"]["median"]);
    EXPECT_GT(row["error"]["checked"], 0);
    EXPECT_LE(row["error"]["max_abs"], row["error"]["bound"]);
    EXPECT_DOUBLE_EQ(row["flops"], 2.0 * 3 * 3 * 9 * 32 * 32);
    EXPECT_NE(std::string(row["repro"]).find("convbench run"), std::string::npos);
    EXPECT_NE(std::string(row["repro_benchdnn"]).find("mb1ic3ih32oc3oh32kh3ph1"), std::string::npos);
  }
  EXPECT_GE(passed, 4);       // direct in two layouts, im2col_gemm; hot and cold
  EXPECT_GE(unsupported, 2);  // im2col_gemm, NHWC
  std::ifstream csv(path("r.csv"));
  std::string line;
  size_t lines = 0;
  while (std::getline(csv, line)) ++lines;
  EXPECT_EQ(lines, file["results"].size() + 1);
}

// The line that a row gives measures the same row again.
TEST_F(ConvbenchTest, ARowsReproLineRuns) {
  ASSERT_EQ(bench({"run", "--problem", kSmall, "--backend", "direct", "--json", path("r.json")}).exit_code,
            0);
  std::string line = json("r.json")["results"][0]["repro"];
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    if (word.front() == '\'') word = word.substr(1, word.size() - 2);
    words.push_back(word);
  }
  ASSERT_EQ(words.front(), "convbench");
  words.erase(words.begin());
  for (const char* more : {"--min-time-ms", "2", "--json"}) words.push_back(more);
  words.push_back(path("again.json"));
  ASSERT_EQ(run(words).exit_code, 0);
  const Json before = json("r.json")["results"][0], after = json("again.json")["results"][0];
  for (const char* key : {"problem", "backend", "math", "layout", "cache"})
    EXPECT_EQ(before[key], after[key]);
}

TEST_F(ConvbenchTest, RunTakesListsAndNamesEveryWayToAskForData) {
  write("list.txt", "# two\nmb1ic2ih9oc4kh3\n\nmb2ic2ih9oc4kh3sh2n\"second\"\n");
  for (const char* dist : {"uniform", "normal", "ints"}) {
    const ProgramRun result = bench({"run", "--problems", path("list.txt"), "--dist", dist, "--seed", "7",
                                     "--cache", "hot", "--json", path("r.json")});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json rows = json("r.json")["results"];
    EXPECT_EQ(rows.back()["name"], "second");
    for (const Json& row : rows) {
      EXPECT_EQ(row["cache"], "hot");
      if (std::string(dist) == "ints" && row["backend"] == "direct") {
        EXPECT_EQ(row["error"]["max_abs"], 0);
      }
    }
  }
}

TEST_F(ConvbenchTest, SweepSetsThePublishedFigureBeside) {
  const ProgramRun result =
      bench({"sweep", "--sizes", "256", "--strides", "2", "--out-channels", "3", "--json", path("s.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  int published = 0;
  const Json file = json("s.json");
  for (const Json& row : file["results"]) {
    EXPECT_EQ(row["study"], "a");
    EXPECT_EQ(row["labels"]["stride"], "2");
    if (row["backend"] == "direct" && row["layout"] == "NCHW") {
      EXPECT_DOUBLE_EQ(row["published"]["time_ns"], 73344);
      ++published;
    }
  }
  EXPECT_EQ(published, 2);  // hot and cold
}

// A sweep that is interrupted leaves a valid file, and --resume adds what is missing without measuring the rest again.
TEST_F(ConvbenchTest, InterruptedAndResumed) {
  const std::vector<std::string> sweep = {
      "sweep", "--sizes",  "16:256:x2", "--out-channels", "3",           "--cache", "hot", "--min-time-ms",
      "60",    "--device", "cpu",       "--json",         path("s.json")};
  // Late enough that some size was measured, also where the machine has other work.
  ProgramOptions options;
  Json half;
  for (double seconds : {2.5, 5.0, 10.0}) {
    options.interrupt_after_s = seconds;
    const ProgramRun first = run(sweep, options);
    ASSERT_EQ(first.exit_code, kInterrupted) << first.err;
    half = json("s.json");
    const bool any = std::any_of(half["results"].begin(), half["results"].end(),
                                 [](const Json& row) { return row["status"] == "PASSED"; });
    if (any) break;
  }
  EXPECT_EQ(half["status"], "INTERRUPTED");
  std::vector<std::string> again = sweep;
  again.push_back("--resume");
  const ProgramRun second = run(again);
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const Json whole = json("s.json");
  EXPECT_EQ(whole["status"], "COMPLETE");
  EXPECT_GT(whole["results"].size(), half["results"].size());
  size_t kept = 0;
  for (const Json& row : half["results"]) {
    if (row["status"] != "PASSED") continue;
    for (const Json& other : whole["results"]) {
      if (other["problem"] == row["problem"] && other["backend"] == row["backend"] &&
          other["layout"] == row["layout"] && other["time_ns"] == row["time_ns"]) {
        ++kept;
      }
    }
  }
  EXPECT_GT(kept, 0u);
}

// A library's generated code may use the stack pointer for its own ends: a signal must not write where that points.
TEST_F(ConvbenchTest, InterruptedInsideALibraryItEndsCleanly) {
  for (double seconds : {0.7, 0.9, 1.1, 1.3, 1.5}) {
    ProgramOptions options;
    options.interrupt_after_s = seconds;
    const ProgramRun result = run({"run", "--device", "cpu", "--problem", "mb4ic128ih128oc128kh3ph1",
                                   "--min-time-ms", "1000", "--json", path("r.json")},
                                  options);
    EXPECT_EQ(result.exit_code, kInterrupted)
        << "after " << seconds << " s: signal " << result.signal << " " << result.err;
  }
}

// Ctrl-C within the first problem: every row of it is there and says why it has no time, whatever was going on.
TEST_F(ConvbenchTest, InterruptedWithinTheFirstProblemLeavesItsRows) {
  for (double seconds : {0.3, 1.5, 3.0}) {
    ProgramOptions options;
    options.interrupt_after_s = seconds;
    const ProgramRun result =
        run({"run", "--device", "cpu", "--problem", "mb8ic64ih256oc64kh3ph1", "--backend",
             "direct,im2col_gemm", "--dist", "normal", "--min-time-ms", "60000", "--json", path("r.json")},
            options);
    EXPECT_EQ(result.exit_code, kInterrupted) << "after " << seconds << " s: " << result.err;
    const Json file = json("r.json");
    EXPECT_EQ(file["status"], "INTERRUPTED");
    ASSERT_EQ(file["results"].size(), 4u) << "after " << seconds << " s";
    EXPECT_TRUE(std::any_of(file["results"].begin(), file["results"].end(),
                            [](const Json& row) { return row["status"] == "SKIPPED"; }))
        << "after " << seconds << " s";
    for (const Json& row : file["results"]) {
      if (row["status"] != "SKIPPED") continue;
      EXPECT_NE(std::string(row["reason"]).find("interrupted before it was"), std::string::npos) << row;
      EXPECT_TRUE(row["time_ns"].is_null()) << row;
    }
  }
}

TEST_F(ConvbenchTest, ResumeRefusesAFileOfAnotherKind) {
  ASSERT_EQ(bench({"run", "--problem", kSmall, "--json", path("r.json")}).exit_code, 0);
  const std::string before = json("r.json").dump();
  const ProgramRun result = bench({"sweep", "--sizes", "16", "--json", path("r.json"), "--resume"});
  EXPECT_EQ(result.exit_code, kData);
  EXPECT_NE(result.err.find("--resume"), std::string::npos) << result.err;
  EXPECT_EQ(json("r.json").dump(), before) << "a refused resume changed the file";
}

// What was measured with other data, checks, limits or threads does not stand in one file with what is measured now.
TEST_F(ConvbenchTest, ResumeRefusesOtherSettings) {
  const std::vector<std::string> words = {"run",     "--problem", kSmall,   "--backend",   "direct",
                                          "--cache", "hot",       "--json", path("r.json")};
  ASSERT_EQ(bench(words).exit_code, 0);
  const std::string before = json("r.json").dump();
  const std::vector<std::vector<std::string>> others = {
      {"--seed", "2", "seed", "\"1\" and \"2\""},
      {"--dist", "ints", "dist", "\"uniform\" and \"ints\""},
      {"--verify", "before", "verify", "\"both\" and \"before\""},
      {"--workspace-limit", "1M", "workspace_limit", "\"default\" and \"1048576 bytes\""},
      {"--max-noise", "0.5", "max_noise", "\"any\" and \"0.5\""},
      {"--threads", "7", "threads", "and \"7\""}};
  for (const std::vector<std::string>& other : others) {
    std::vector<std::string> again = words;
    for (const std::string& word : {other[0], other[1], std::string("--resume")}) again.push_back(word);
    const ProgramRun result = bench(again);
    EXPECT_EQ(result.exit_code, kData) << other[0] << result.err;
    EXPECT_NE(result.err.find(other[2] + " differs: "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(other[3]), std::string::npos) << result.err;
    EXPECT_EQ(json("r.json").dump(), before) << "a refused resume changed the file";
  }
  std::vector<std::string> same = words;
  same.push_back("--resume");
  EXPECT_EQ(bench(same).exit_code, 0);
  EXPECT_EQ(json("r.json")["results"].dump(), Json::parse(before)["results"].dump()) << "measured again";
}

// A row that got no time gets another try, beside the others of its problem.
TEST_F(ConvbenchTest, ResumeTriesAgainWhatWentWrong) {
  const std::vector<std::string> words = {
      "run",     "--problem", kSmall,   "--backend",    "direct,im2col_gemm",
      "--cache", "hot",       "--json", path("r.json"), "--resume"};
  for (const char* status : {"ERROR", "SKIPPED"}) {
    ASSERT_EQ(bench(words).exit_code, 0);
    Json file = json("r.json");
    ASSERT_EQ(file["results"].size(), 2u);
    Json& row = file["results"][0];
    row["status"] = status;
    row["reason"] = "something went wrong";
    row["samples"] = 0;
    row["time_ns"] = nullptr;
    write("r.json", file.dump());
    const ProgramRun again = bench(words);
    ASSERT_EQ(again.exit_code, 0) << status << again.err;
    const Json after = json("r.json")["results"];
    ASSERT_EQ(after.size(), 2u);
    EXPECT_EQ(after[0]["status"], "PASSED") << status;
    EXPECT_FALSE(after[0]["time_ns"].is_null()) << status;
    EXPECT_EQ(after[1]["status"], "PASSED") << status;
  }
}

// A run that asks for other problems keeps the rows of the file, and does not fail for what it was not asked for.
TEST_F(ConvbenchTest, ResumeKeepsRowsThatItIsNotAskedFor) {
  const auto run_of = [&](const char* problem, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run",    "--problem",    problem, "--backend",  "direct,im2col_gemm",
                                      "--json", path("r.json"), "--csv", path("r.csv")};
    words.insert(words.end(), more.begin(), more.end());
    return bench(words);
  };
  ASSERT_EQ(run_of(kSmall, {}).exit_code, 0);
  const Json first = json("r.json")["results"], ceilings = json("r.json")["ceilings"];
  ProgramRun second = run_of("mb1ic3ih20oc3kh3ph1", {"--resume"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.out.find("kept 4 rows"), std::string::npos) << second.out;
  EXPECT_EQ(json("r.json")["ceilings"].dump(), ceilings.dump())
      << "rows were judged by other ceilings than those that stand there";
  const Json both = json("r.json")["results"];
  ASSERT_EQ(both.size(), 2 * first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(both[i]["problem"], "mb1ic3ih20oc3oh20kh3ph1");
    EXPECT_EQ(both[first.size() + i].dump(), first[i].dump());
  }
  std::ifstream csv(path("r.csv"));
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(csv), {}, '\n'), 1 + static_cast<long>(both.size()));
  // Asked for the first again, it takes what is there and adds nothing twice.
  ASSERT_EQ(run_of(kSmall, {"--resume"}).exit_code, 0);
  const Json again = json("r.json")["results"];
  ASSERT_EQ(again.size(), both.size());
  EXPECT_EQ(again[0].dump(), first[0].dump());
}

TEST_F(ConvbenchTest, MachineOutputTakesStandardOutputAlone) {
  const ProgramRun result = bench({"run", "--problem", kSmall, "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["status"], "COMPLETE");
}

TEST_F(ConvbenchTest, HelpNamesTheLimitThatCudnnHas) {
  const std::string help =
      std::regex_replace(run({"run", "--help"}).out, std::regex("\\s+"), " ");  // lines wrap
  EXPECT_NE(help.find("no limit; for cudnn 512M"), std::string::npos);
}

TEST_F(ConvbenchTest, EveryCommandHasHelpWithAnExample) {
  const ProgramRun all = run({"--help"});
  ASSERT_EQ(all.exit_code, 0);
  for (const char* command : {"run", "sweep", "ladder", "compare", "reproduce"}) {
    EXPECT_NE(all.out.find(command), std::string::npos) << command;
    const ProgramRun one = run({command, "--help"});
    EXPECT_EQ(one.exit_code, 0) << command;
    EXPECT_NE(one.out.find("Example"), std::string::npos) << command;
    EXPECT_NE(one.out.find(std::string("convbench ") + command), std::string::npos) << command;
  }
}

#ifdef LENSLET_FAULTY_MODULE_DIR
// Another library than the one that the file's rows were measured with.
TEST_F(ConvbenchTest, ResumeRefusesOtherLibraries) {
  const std::vector<std::string> words = {"run", "--problem", kSmall,        "--cache",
                                          "hot", "--json",    path("r.json")};
  ASSERT_EQ(bench(words).exit_code, 0);
  if (json("r.json")["libs"].empty()) GTEST_SKIP() << "this build uses no library";
  ProgramOptions options;
  options.environment = {{"LENSLET_MODULE_PATH", LENSLET_FAULTY_MODULE_DIR}};
  std::vector<std::string> again = words;
  again.push_back("--resume");
  const ProgramRun result = bench(again, options);
  EXPECT_EQ(result.exit_code, kData) << result.err;
  EXPECT_NE(result.err.find("oneDNN differs: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("\"not loaded\""), std::string::npos) << result.err;
}

// A backend that fails while it runs, or while it is prepared: its rows say so, the others and the problems after it
// keep theirs, the exit code is 5.
TEST_F(ConvbenchTest, ABackendThatFailsKeepsTheOthersRows) {
  for (const char* fault : {"LENSLET_TEST_RUNS_BEFORE_FAULT", "LENSLET_TEST_FAULT_WHILE_PREPARING"}) {
    ProgramOptions options;
    options.environment = {{"LENSLET_MODULE_PATH", LENSLET_FAULTY_MODULE_DIR}, {fault, "0"}};
    const ProgramRun result = bench({"sweep", "--sizes", "16,32", "--strides", "1", "--out-channels", "3",
                                     "--backend", "onednn,direct", "--json", path("r.json")},
                                    options);
    EXPECT_EQ(result.exit_code, 5) << result.err;
    EXPECT_NE(result.err.find("planted fault"), std::string::npos) << result.err;
    const Json file = json("r.json");
    EXPECT_EQ(file["status"], "COMPLETE") << fault;
    EXPECT_EQ(file["results"].size(), 2u * 2 * 2 * 2);  // sizes, layouts, backends, cache states
    for (const Json& row : file["results"]) {
      EXPECT_EQ(row["status"] == "ERROR", row["backend"] == "onednn") << row;
      EXPECT_EQ(row["time_ns"].is_null(), row["backend"] == "onednn") << row;
    }
  }
}
#endif

}  // namespace
}  // namespace lenslet::test
