// convbench run from outside, on the CPU: run, sweep, their files, and the message for each mistake.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "framework/base/parallel.h"
#include "tests/support/programs.h"

namespace lenslet::test {
namespace {

using Json = nlohmann::json;
const std::string kSmall = "mb1ic3ih32oc3kh3ph1";
const std::string kTwoRows =
    "run --problem " + kSmall + " --backend direct,im2col_gemm --cache hot --json r.json";

class ConvbenchTest : public ProgramTest {
 protected:
  /// On the CPU, for a short time.
  ProgramRun bench(const std::string& arguments, const ProgramOptions& options = {}) const {
    return run("convbench " + arguments + " --device cpu --min-time-ms 2 --warmup-ms 0", options);
  }
  /// The file that kTwoRows writes. The tests that resume a run share it, because ceilings take longer than the rows.
  std::string two_rows() const {
    static const std::string file = [this] {
      expect_run(bench(kTwoRows), kOk);
      return text("r.json");
    }();
    return file;
  }
};

TEST_F(ConvbenchTest, RunGivesEveryBackendARow) {
  expect_run(bench("run --problem " + kSmall + " --layout both --json r.json --csv r.csv"), kOk,
             "mb1ic3ih32oc3oh32kh3ph1");
  const Json file = json("r.json");
  expect_members(file, {{"schema", "lenslet.results/1"}, {"tool", "convbench run"}, {"status", "COMPLETE"}});
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
    expect_words(row["repro"], "convbench run");
    expect_words(row["repro_benchdnn"], "mb1ic3ih32iw32oc3oh32ow32kh3kw3ph1pw1");
  }
  EXPECT_GE(passed, 4);       // direct in two layouts, im2col_gemm; hot and cold
  EXPECT_GE(unsupported, 2);  // im2col_gemm, NHWC
  EXPECT_EQ(static_cast<size_t>(count_lines(text("r.csv"))), file["results"].size() + 1);
}

// `auto` is the backend that a layer takes, by problem and layout. Its row has that name, once.
TEST_F(ConvbenchTest, RunMeasuresTheBackendThatAutoTakes) {
  const std::string deep = "mb1ic16ih12oc16oh10kh3";
  std::map<std::string, std::string> taken;
  for (const std::string& problem : {kSmall, deep}) {
    expect_run(run("lenslet backends --device cpu --problem " + problem + " --json b.json"), kOk);
    const Json rows = json("b.json")["rows"];
    for (const Json& row : rows) {
      if (row["auto"]) taken[row["problem"]] = row["backend"];
    }
  }
  ASSERT_EQ(taken.size(), 2u);
  expect_run(bench("run --problem " + kSmall + " --problem " + deep +
                   " --backend im2col_gemm,auto,direct --layout both --cache hot --json r.json"),
             kOk);
  std::map<std::string, std::multiset<std::string>> measured;
  const Json rows = json("r.json")["results"];
  for (const Json& row : rows) {
    EXPECT_NE(row["backend"], "auto");
    measured[std::string(row["problem"]) + " " + std::string(row["layout"])].insert(row["backend"]);
  }
  for (const auto& [problem, backend] : taken) {
    std::multiset<std::string> expected = {"im2col_gemm", backend};
    if (backend != "direct") expected.insert("direct");
    EXPECT_EQ(measured[problem + " NCHW"], expected) << problem;
    EXPECT_EQ(measured[problem + " NHWC"], (std::multiset<std::string>{"im2col_gemm", "direct"})) << problem;
  }
  // No backend of the CPU computes in fp16.
  expect_run(bench("run --problem " + kSmall + " --backend auto --math fp16 --json r.json"), kUnavailable, "",
             "no backend supports this convolution");
  EXPECT_EQ(json("r.json")["results"][0]["status"], "UNSUPPORTED");
}

// No backend of the CPU takes other tensors than fp32: every row says so, and none was converted silently.
TEST_F(ConvbenchTest, TensorsOf16BitsAreRefusedOnTheCpu) {
  write("list.txt", "--dt=f16,f32 " + kSmall + " --reset " + kSmall);
  expect_run(
      bench("run --problems list.txt --backend direct --dt bf16 --cache hot --json r.json --csv r.csv"), kOk,
      "takes fp32 tensors, not ");
  const Json rows = json("r.json")["results"];
  ASSERT_EQ(rows.size(), 3u);
  const char* const types[] = {"fp16", "fp32", "bf16"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i]["dt"], types[i]);
    EXPECT_EQ(rows[i]["status"] == "UNSUPPORTED", i != 1) << rows[i];
    if (i == 1) continue;
    expect_words(rows[i]["reason"], std::string("takes fp32 tensors, not ") + types[i] + ": choose fp32");
    expect_words(rows[i]["repro"], std::string("--layout nchw --dt ") + types[i]);
    expect_words(rows[i]["repro_benchdnn"], i == 0 ? "--dt=f16 --stag=nchw" : "--dt=bf16 --stag=nchw");
  }
  EXPECT_EQ(rows[1]["repro"].get<std::string>().find("--dt"), std::string::npos);
  EXPECT_NE(text("r.csv").find(",dt,math,"), std::string::npos);
}

// The command in a row measures the same row again.
TEST_F(ConvbenchTest, ARowsReproLineRuns) {
  expect_run(bench("run --problem " + kSmall + " --backend direct --json r.json"), kOk);
  const std::string line =
      std::regex_replace(std::string(json("r.json")["results"][0]["repro"]), std::regex("'"), "");
  ASSERT_EQ(line.rfind("convbench ", 0), 0u) << line;
  expect_run(run(line + " --min-time-ms 2 --json again.json"), kOk);
  const Json before = json("r.json")["results"][0], after = json("again.json")["results"][0];
  for (const char* key : {"problem", "backend", "dt", "math", "layout", "cache"})
    EXPECT_EQ(before[key], after[key]);
}

// Every problem of a list written for benchdnn has rows; one that cannot be measured has a reason.
TEST_F(ConvbenchTest, RunMeasuresBenchdnnsListsAsTheyAre) {
  const std::string list = LENSLET_SOURCE_DIR "/tests/conv/benchdnn_form.txt";
  expect_run(bench("run --problems " + list + " --backend direct,im2col_gemm --cache hot --json r.json"), kOk,
             "asymmetric:stride");
  const Json rows = json("r.json")["results"];
  EXPECT_EQ(rows.size(), 2 * 42u);
  int unsupported = 0;
  for (const Json& row : rows) {
    if (row["status"] != "UNSUPPORTED") {
      EXPECT_TRUE(row["status"] == "PASSED" || row["status"] == "SUSPECT") << row;
      continue;
    }
    ++unsupported;
    EXPECT_EQ(row["repro"], nullptr);
    const std::string reason = row["reason"];
    EXPECT_TRUE(reason.find("3-D convolution") == 0 || reason.find("Lenslet does not measure --") == 0)
        << row;
  }
  EXPECT_EQ(unsupported, 2 * 7);
  // Nothing in it can be measured.
  write("volumes.txt", "ic3oc4_id5od5kd3pd1_n\"3d\"\n");
  expect_run(bench("run --problems volumes.txt --json r.json"), kUnavailable, "", "3-D convolution");
  EXPECT_EQ(json("r.json")["results"][0]["problem"], "ic3oc4_id5od5kd3pd1_n\"3d\"");
}

TEST_F(ConvbenchTest, RunTakesListsAndNamesEveryWayToGiveData) {
  write("list.txt", "# two\nmb1ic2ih9oc4kh3\n\nmb2ic2ih9oc4kh3sh2n\"second\"\n");
  for (const std::string dist : {"uniform", "normal", "ints"}) {
    expect_run(bench("run --problems list.txt --dist " + dist + " --seed 7 --cache hot --json r.json"), kOk);
    const Json rows = json("r.json")["results"];
    EXPECT_EQ(rows.back()["name"], "second");
    for (const Json& row : rows) {
      EXPECT_EQ(row["cache"], "hot");
      if (dist == "ints" && row["backend"] == "direct") {
        EXPECT_EQ(row["error"]["max_abs"], 0);
      }
    }
  }
}

TEST_F(ConvbenchTest, SweepSetsThePublishedFigureBeside) {
  expect_run(bench("sweep --sizes 256 --strides 2 --out-channels 3 --json s.json"), kOk);
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

// An interrupted sweep leaves a valid file, and --resume adds the missing rows without repeating the others.
TEST_F(ConvbenchTest, InterruptedAndResumed) {
  const std::string sweep =
      "convbench sweep --sizes 16:64:x2 --out-channels 3 --cache hot --min-time-ms 60 --device cpu --json "
      "s.json";
  ProgramOptions options;
  options.interrupt_when = [&](const ProgramRun&, pid_t) {
    if (!std::filesystem::exists(path("s.json"))) return false;
    const Json rows = json("s.json")["results"];
    return std::any_of(rows.begin(), rows.end(), [](const Json& row) { return row["status"] == "PASSED"; });
  };
  expect_run(run(sweep, options), kInterrupted);
  const Json half = json("s.json");
  EXPECT_EQ(half["status"], "INTERRUPTED");
  expect_run(run(sweep + " --resume"), kOk);
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

// A library's generated code may use the stack pointer for other purposes: a signal handler must not write there.
TEST_F(ConvbenchTest, InterruptedInsideALibraryItEndsCleanly) {
  // Unverified, so that after the ceilings the library takes all the time (oneDNN, if this build has it).
  for (double seconds : {0.1, 0.3, 0.5}) {
    ProgramOptions options;
    options.interrupt_when = after_printing("ceilings", seconds);
    SCOPED_TRACE(seconds);
    const std::string line =
        "convbench run --device cpu --problem mb1ic128ih64oc128kh3ph1 --backend im2col_gemm";
    expect_run(run(line + " --verify off --min-time-ms 1000 --json r.json", options), kInterrupted);
  }
}

// Ctrl-C during the first problem: all its rows are in the file, with the reason for a missing time.
TEST_F(ConvbenchTest, InterruptedWithinTheFirstProblemLeavesItsRows) {
  for (double seconds : {0.0, 0.5, 2.0}) {
    ProgramOptions options;
    options.interrupt_when = after_printing("ceilings", seconds);
    SCOPED_TRACE(seconds);
    expect_run(
        run("convbench run --device cpu --problem mb8ic64ih256oc64kh3ph1 --backend direct,im2col_gemm --dist "
            "normal --min-time-ms 60000 --json r.json",
            options),
        kInterrupted);
    const Json file = json("r.json");
    EXPECT_EQ(file["status"], "INTERRUPTED");
    ASSERT_EQ(file["results"].size(), 4u);
    EXPECT_TRUE(std::any_of(file["results"].begin(), file["results"].end(),
                            [](const Json& row) { return row["status"] == "SKIPPED"; }));
    for (const Json& row : file["results"]) {
      if (row["status"] != "SKIPPED") continue;
      expect_words(row["reason"], "interrupted before it was");
      EXPECT_TRUE(row["time_ns"].is_null()) << row;
    }
  }
}

TEST_F(ConvbenchTest, ResumeRefusesAFileOfAnotherKind) {
  const std::string before = two_rows();
  write("r.json", before);
  expect_run(bench("sweep --sizes 16 --json r.json --resume"), kData, "",
             "was measured differently (tool differs: |\"convbench run\" and \"convbench sweep\"");
  EXPECT_EQ(text("r.json"), before) << "a refused resume changed the file";
}

// Rows measured with other data, checks, limits or threads do not share a file.
TEST_F(ConvbenchTest, ResumeRefusesOtherSettings) {
  const std::string before = two_rows();
  write("r.json", before);
  const std::string more_threads = std::to_string(num_threads() + 1);
  const std::pair<std::string, std::string> others[] = {
      {" --seed 2", "seed differs: |\"1\" and \"2\""},
      {" --dist ints", "dist differs: |\"uniform\" and \"ints\""},
      {" --verify before", "verify differs: |\"both\" and \"before\""},
      {" --workspace-limit 1M", "workspace_limit differs: |\"default\" and \"1048576 bytes\""},
      {" --max-noise 0.5", "max_noise differs: |\"any\" and \"0.5\""},
      {" --threads " + more_threads, "threads differs: |and \"" + more_threads + "\""}};
  for (const auto& [option, words] : others) {
    expect_run(bench(kTwoRows + option + " --resume"), kData, "", words);
    EXPECT_EQ(text("r.json"), before) << "a refused resume changed the file";
  }
  expect_run(bench(kTwoRows + " --resume"), kOk);
  EXPECT_EQ(json("r.json")["results"].dump(), Json::parse(before)["results"].dump()) << "measured again";
}

// A row without a time is measured again, with the other rows of its problem.
TEST_F(ConvbenchTest, ResumeTriesAgainWhatWentWrong) {
  for (const char* status : {"ERROR", "SKIPPED"}) {
    SCOPED_TRACE(status);
    Json file = Json::parse(two_rows());
    ASSERT_EQ(file["results"].size(), 2u);
    Json& row = file["results"][0];
    row["status"] = status;
    row["reason"] = "something went wrong";
    row["samples"] = 0;
    row["time_ns"] = nullptr;
    write("r.json", file.dump());
    expect_run(bench(kTwoRows + " --resume"), kOk);
    const Json after = json("r.json")["results"];
    ASSERT_EQ(after.size(), 2u);
    EXPECT_EQ(after[0]["status"], "PASSED");
    EXPECT_FALSE(after[0]["time_ns"].is_null());
    EXPECT_EQ(after[1]["status"], "PASSED");
  }
}

// A run with other problems keeps the rows of the file, and does not fail because of them.
TEST_F(ConvbenchTest, ResumeKeepsRowsThatWereNotRequested) {
  const auto run_of = [&](const std::string& problem) {
    return bench("run --problem " + problem + " --backend direct,im2col_gemm --json r.json --csv r.csv");
  };
  expect_run(run_of(kSmall), kOk);
  const Json first = json("r.json")["results"], ceilings = json("r.json")["ceilings"];
  expect_run(run_of("mb1ic3ih20oc3kh3ph1 --resume"), kOk, "kept 4 rows");
  EXPECT_EQ(json("r.json")["ceilings"].dump(), ceilings.dump())
      << "rows were judged by other ceilings than those that stand there";
  const Json both = json("r.json")["results"];
  ASSERT_EQ(both.size(), 2 * first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(both[i]["problem"], "mb1ic3ih20oc3oh20kh3ph1");
    EXPECT_EQ(both[first.size() + i].dump(), first[i].dump());
  }
  EXPECT_EQ(count_lines(text("r.csv")), 1 + static_cast<long>(both.size()));
  // A repeated request takes the rows of the file and adds no duplicates.
  expect_run(run_of(kSmall + " --resume"), kOk);
  const Json again = json("r.json")["results"];
  ASSERT_EQ(again.size(), both.size());
  EXPECT_EQ(again[0].dump(), first[0].dump());
}

TEST_F(ConvbenchTest, MachineOutputTakesStandardOutputAlone) {
  const ProgramRun result = expect_run(bench("run --problem " + kSmall + " --json -"), kOk);
  EXPECT_EQ(Json::parse(result.out)["status"], "COMPLETE");
}

TEST_F(ConvbenchTest, CompareCountsTheRowsThatNoLongerPass) {
  expect_run(bench("run --backend direct --problem " + kSmall + " --cache hot --json passed.json"), kOk);
  Json file = json("passed.json");
  file["results"][0]["status"] = "SUSPECT";
  std::ofstream(path("suspect.json")) << file;
  const std::string line = "convbench compare " + path("passed.json") + " " + path("suspect.json");
  expect_run(run(line), kOk, "1 not compared, 1 of them no longer PASSED");
}

TEST_F(ConvbenchTest, HelpNamesTheLimitThatCudnnHas) {
  const std::string help =
      std::regex_replace(run("convbench run --help").out, std::regex("\\s+"), " ");  // lines wrap
  expect_words(help, "no limit; for cudnn 512M");
}

TEST_F(ConvbenchTest, EveryCommandHasHelpWithAnExample) {
  const ProgramRun all = expect_run(run("convbench --help"), kOk);
  for (const std::string command : {"run", "sweep", "ladder", "compare", "reproduce"}) {
    expect_words(all.out, command);
    expect_run(run("convbench " + command + " --help"), kOk, "Example|convbench " + command);
  }
}

#ifdef LENSLET_FAULTY_MODULE_DIR
// A library of another version than the one that the file's rows were measured with.
TEST_F(ConvbenchTest, ResumeRefusesOtherLibraries) {
  const std::string line = "run --problem " + kSmall + " --cache hot --json r.json";
  expect_run(bench(line), kOk);
  if (json("r.json")["libs"].empty()) GTEST_SKIP() << "this build uses no library";
  ProgramOptions options;
  options.environment = {{"LENSLET_MODULE_PATH", LENSLET_FAULTY_MODULE_DIR}};
  expect_run(bench(line + " --resume", options), kData, "", "oneDNN differs: |\"not loaded\"");
}

// A backend that fails while it runs or is prepared: its rows report it, other backends and later problems keep theirs,
// the exit code is 5.
TEST_F(ConvbenchTest, ABackendThatFailsKeepsTheOthersRows) {
  for (const char* fault : {"LENSLET_TEST_RUNS_BEFORE_FAULT", "LENSLET_TEST_FAULT_WHILE_PREPARING"}) {
    ProgramOptions options;
    options.environment = {{"LENSLET_MODULE_PATH", LENSLET_FAULTY_MODULE_DIR}, {fault, "0"}};
    expect_run(bench("sweep --sizes 16,32 --strides 1 --out-channels 3 --backend onednn,direct --json r.json",
                     options),
               kDevice, "", "planted fault");
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
