// SIGINT, SIGTERM and SIGHUP in every phase of every long command: exit code 130, one line, complete files or none. A
// preloaded library sends the signal (signal_at.cpp), so the phase does not depend on the clock.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/cli/fixtures/files.h"
#include "tests/support/npz_writer.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

struct Command {
  const char* name;
  const char* line;  // with kShort expanded; {out} is a private folder
  /// The phase and its point for signal_at.cpp.
  std::vector<std::pair<const char*, const char*>> phases;
};

const Names kShort = {{"{cpu}", "--device cpu --threads 1"},
                      {"{files}", "--json {out}/r.json --csv {out}/r.csv"},
                      {"{short}", "--warmup-ms 0 --min-time-ms 1"},
                      // Long enough that no measurement ends before the test's time limit.
                      {"{endless}", "--min-time-ms 3600000"}};

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"eval",
       "lenslet eval {cpu} --data {dir}/many --batch-size 16 {files} --logits {out}/r.raw --save-plan "
       "{out}/plan.json",
       {{"loading", "open:t10k-images"},
        {"preparing", "print:data:,clock:1"},
        {"warming_up", "print:data:,clock:3"},
        {"measuring", "print:data:,clock:5"},
        {"writing_created", "print:accuracy,create:1"},
        {"writing", "print:accuracy,write:1"},
        {"writing_renames", "print:accuracy,rename:2"}}},
      {"matrix",
       "lenslet eval --backend-matrix {cpu} --data {dir}/data {files}",
       {{"preparing", "print:data:,clock:1"}, {"measuring", "print:data:,clock:9"}, {"writing", "write:1"}}},
      {"classify",
       "lenslet classify {cpu} {files} {dir}/mixed/1.pgm {dir}/many/t10k-images-idx3-ubyte",
       {{"loading", "open:1.pgm"},
        {"preparing", "clock:1"},
        {"measuring", "print:[100]"},
        {"writing", "write:1"},
        {"writing_renames", "rename:1"}}},
      {"profile",
       "lenslet profile {cpu} --weights {dir}/w/good.safetensors --cache hot --warmup-ms 3600000 {endless} "
       "{files} --trace {out}/trace.json",
       {{"loading", "open:good.safetensors"},
        {"ceilings", "print:LeNet-5,clock:20"},
        {"preparing", "print:ceilings,clock:1"},
        {"warming_up", "print:ceilings,clock:50"}}},
      {"profile_measuring",
       "lenslet profile {cpu} --cache hot --warmup-ms 0 {endless} {files} --trace {out}/trace.json",
       {{"measuring", "print:ceilings,clock:500"}}},
      {"profile_writing",
       "lenslet profile {cpu} --cache hot {short} {files} --trace {out}/trace.json --save-plan "
       "{out}/plan.json",
       // Each of the four outputs is opened once as a trial.
       {{"plan", "create:5"},
        {"writing", "print:ceilings,write:1"},
        {"writing_renames", "print:ceilings,rename:3"}}},
      {"bench",
       "lenslet bench {cpu} --data {dir}/data --plan layered --batch-sizes 1,2 --warmup-ms 10 {endless} "
       "{files}",
       {{"loading", "open:t10k-images"},
        {"ceilings", "print:samples,clock:20"},
        {"preparing", "print:ceilings,clock:1"},
        {"warming_up", "print:ceilings,clock:30"},
        {"measuring", "print:ceilings,clock:3000"}}},
      {"bench_writing",
       "lenslet bench {cpu} --plan fused --batch-sizes 1,2 {short} {files}",
       {{"writing", "write:1"}, {"writing_again", "rename:2"}}},
      {"tune",
       "lenslet tune {cpu} --weights {dir}/w/good.safetensors --plan layered --warmup-ms 10 {endless} "
       "{files} --save-plan {out}/plan.json",
       {{"loading", "open:good.safetensors"},
        {"preparing", "print:LeNet-5,clock:1"},
        {"warming_up", "print:LeNet-5,clock:40"},
        {"measuring", "print:LeNet-5,clock:4000"}}},
      {"tune_writing",
       "lenslet tune {cpu} --plan fused {short} --json {out}/r.json --save-plan {out}/plan.json",
       {{"writing", "write:1"}, {"writing_renames", "rename:2"}}},
      {"run",
       "convbench run {cpu} --problems {dir}/problems/good.txt --warmup-ms 10 {endless} {files} --resume",
       {{"loading", "open:good.txt"},
        {"ceilings", "print:cpu (,clock:20"},
        {"preparing", "print:ceilings,clock:1"},
        {"warming_up", "print:ceilings,clock:30"},
        {"measuring", "print:ceilings,clock:3000"}}},
      {"sweep",
       "convbench sweep {cpu} --sizes 16,24 --strides 1 --out-channels 3 --backend direct {short} {files}",
       {{"writing", "write:1"}, {"writing_again", "rename:2"}, {"between_writing", "rename:1,clock:50"}}},
  };
  return all;
}

// Has one phase, loading, and writes nothing. interruptions() adds it.
const Command kCompare = {"compare",
                          "convbench compare {source}/tests/convbench/first_schema/profile_cpu.json "
                          "{source}/tests/convbench/first_schema/profile_cpu.json",
                          {}};

struct Interruption {
  const Command* command;
  const char *phase, *point;
  int signal;
};

std::ostream& operator<<(std::ostream& out, const Interruption& when) {
  return out << when.command->line << " at " << when.point;
}

// Every third; LENSLET_TEST_THOROUGH runs all of them, which takes minutes.
constexpr size_t kStride = 3;

std::vector<Interruption> interruptions(bool only_writing) {
  const size_t stride = std::getenv("LENSLET_TEST_THOROUGH") ? 1 : kStride;
  std::vector<Interruption> list;
  size_t turn = 0;
  for (const Command& command : commands()) {
    for (const auto& [phase, point] : command.phases) {
      // All signals are handled in the same way, so each phase needs only one of them.
      const int signal = turn % 2 == 0 ? SIGINT : SIGTERM;
      if (turn++ % stride != 0) continue;
      const bool writing = std::string(phase).find("writing") != std::string::npos;
      if (writing || !only_writing || stride == 1) list.push_back({&command, phase, point, signal});
    }
  }
  if (only_writing) return list;
  list.push_back({&commands().front(), "hangup", "print:data:,clock:5", SIGHUP});
  list.push_back({&kCompare, "loading", "open:profile_cpu.json", SIGTERM});
  return list;
}

// The program gets `count` signals at a point in the syntax of signal_at.cpp.
ProgramOptions signal_at(const char* point, int signal, int count) {
  ProgramOptions options;
  options.environment = {{"LD_PRELOAD", LENSLET_SIGNAL_AT},
                         {"LENSLET_TEST_SIGNAL", std::to_string(signal)},
                         {"LENSLET_TEST_SIGNAL_AT", point},
                         {"LENSLET_TEST_SIGNAL_COUNT", std::to_string(count)},
                         {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}};
  return options;
}

class SignalTest : public testing::TestWithParam<Interruption> {
 protected:
  void SetUp() override {
    out_ = fixture_folder() + "/signals";
    fs::remove_all(out_);
    fs::create_directories(out_);
  }
  ProgramRun run(int signals) const {
    const Interruption& when = GetParam();
    ProgramOptions options = signal_at(when.point, when.signal, signals);
    const char* const asan = std::getenv("ASAN_OPTIONS");
    options.environment["ASAN_OPTIONS"] = std::string(asan ? asan : "") + ":verify_asan_link_order=0";
    return run_line(expand(expand(when.command->line, kShort), {{"{out}", out_}}), options);
  }
  std::string text(const std::string& name) const { return read_text(out_ + "/" + name); }
  // Files are complete, and there are no temporary files.
  void expect_whole_files() const {
    for (const auto& entry : fs::directory_iterator(out_)) {
      const std::string name = entry.path().filename().string(), bytes = text(name);
      EXPECT_NE(name.front(), '.') << name;
      if (name == "r.json" || name == "trace.json" || name == "plan.json") {
        EXPECT_TRUE(nlohmann::json::accept(bytes)) << name << ": " << bytes;
      } else if (name == "r.csv") {
        ASSERT_FALSE(bytes.empty());
        EXPECT_EQ(bytes.back(), '\n');
      } else if (name == "r.raw") {
        EXPECT_EQ(bytes.size() % (10 * sizeof(float)), 0u);
      } else {
        ADD_FAILURE() << name << " stayed behind";
      }
    }
  }
  void expect_line(const ProgramRun& run, const std::string& words) const {
    expect_run(run, kInterrupted, "", words);
    EXPECT_EQ(run.err.find("error:"), std::string::npos) << run.err;
  }

  std::string out_;
};

TEST_P(SignalTest, FirstFinishesAndLeavesWholeFiles) {
  const ProgramRun result = run(1);
  const std::map<int, std::string> names = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};
  expect_line(result,
              ": interrupted by " + names.at(GetParam().signal) + ": every file that was written is whole\n");
  expect_whole_files();
  const std::string phase = GetParam().phase, result_file = text("r.json");
  // A signal during the writing of files comes after the work is done.
  if (result_file.empty() || phase.find("writing") != std::string::npos) return;
  const nlohmann::json document = parse_json(result_file);
  EXPECT_TRUE(document.value("interrupted", false) || document.value("status", "") == "INTERRUPTED")
      << result_file;
}

class SecondSignalTest : public SignalTest {};

TEST_P(SecondSignalTest, StopsAtOnceAndLeavesWholeFiles) {
  const std::string earlier = "{\"earlier\": true}\n";
  const bool resumes = std::string(GetParam().command->line).find("--resume") != std::string::npos;
  if (!resumes) std::ofstream(out_ + "/r.json") << earlier;
  const ProgramRun result = run(2);
  expect_line(result, ": interrupted again: stopped at once, partly written files were removed\n");
  expect_whole_files();
  if (!resumes && std::string(GetParam().phase).find("writing") == std::string::npos) {
    EXPECT_EQ(text("r.json"), earlier);
  }
}

std::string name_of(const testing::TestParamInfo<Interruption>& when) {
  return std::string(when.param.command->name) + "_" + when.param.phase;
}
INSTANTIATE_TEST_SUITE_P(Phases, SignalTest, testing::ValuesIn(interruptions(false)), name_of);
INSTANTIATE_TEST_SUITE_P(Phases, SecondSignalTest, testing::ValuesIn(interruptions(true)), name_of);

// The reference's answers are made before the first configuration is prepared.
TEST(Signals, BenchWritesRowsAlsoBeforeItsAnswersAreMade) {
  const std::string file = "{dir}/out/answers.json";
  expect_run(run_line("lenslet bench --device cpu --plan layered --batch-sizes 1,2 --json " + file,
                      signal_at("print:LeNet-5", SIGTERM, 1)),
             kInterrupted, "", "interrupted by SIGTERM");
  const nlohmann::json document = read_json(file);
  EXPECT_EQ(document.at("status"), "INTERRUPTED");
  ASSERT_FALSE(document.at("results").empty());
  for (const nlohmann::json& row : document.at("results")) {
    EXPECT_EQ(row.at("labels").at("batch"), "1") << "no other batch was begun";
    EXPECT_EQ(row.at("status"), "SKIPPED");
    expect_words(row.at("reason"), "interrupted");
    EXPECT_TRUE(row.at("time_ns").is_null());
  }
}

// Measuring all ceilings takes half a minute on a busy machine.
TEST(Signals, TheMeasuringOfCeilingsEndsAtOnce) {
  const std::string file = fixture_folder() + "/out/ceilings.json";
  for (const auto& [line, point] : std::map<std::string, const char*>{
           {"lenslet tune --device cpu --threads 1 --json ", "print:LeNet-5,clock:20"},
           {"lenslet bench --device cpu --threads 1 --batch-sizes 1 --json ", "print:samples,clock:20"},
           {"{bench} ic1ih28oc1kh3 --threads 1 --json ", "print:cpu (,clock:20"}}) {
    const ProgramRun run = expect_run(run_line(line + file, signal_at(point, SIGINT, 1)), kInterrupted, "",
                                      "every file that was written is whole");
    EXPECT_EQ(run.out.find("ceilings measured now"), std::string::npos) << run.out;
    const nlohmann::json document = read_json(file);
    EXPECT_EQ(document.at("status"), "INTERRUPTED");
    EXPECT_TRUE(document.at("ceilings").is_null()) << "so that a run that resumes the file measures them";
  }
}

TEST(Signals, RowsNameTheLimitThatLeftThemUnmeasured) {
  const std::string file = fixture_folder() + "/out/limit.json";
  const ProgramRun run = expect_run(run_line("{bench} ic1ih28oc1kh3 --max-seconds 0.001 --json " + file), kOk,
                                    "stopped by --max-seconds");
  EXPECT_EQ(run.out.find("ceilings measured now"), std::string::npos) << "they count, too: " << run.out;
  for (const nlohmann::json& row : read_json(file).at("results"))
    EXPECT_EQ(row.at("reason"), "stopped by --max-seconds before it was measured");
}

// A signal during the reading of a file ends the read: the answers to the files before it are written.
TEST(Signals, ClassifyWritesItsAnswersAlsoWhileItReads) {
  expect_run(
      run_line("lenslet classify --device cpu --threads 1 --batch-size 1 --json {dir}/out/read.json --csv "
               "{dir}/out/read.csv {dir}/pics/one.pgm {source}/samples/digit_7_a.png",
               signal_at("print:one.pgm,open:digit_7_a.png", SIGTERM, 1)),
      kInterrupted, "one.pgm: 1", "interrupted by SIGTERM");
  const nlohmann::json document = read_json("{dir}/out/read.json");
  EXPECT_EQ(document.at("status"), "INTERRUPTED");
  ASSERT_EQ(document.at("results").size(), 1u);
  EXPECT_EQ(document.at("results").at(0).at("digit"), 1);
  const std::string rows = read_text(expand("{dir}/out/read.csv"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2) << rows;
}

TEST(Signals, DiffWritesTheComparisonsThatItHas) {
  NpzWriter values;
  values.add("input.npy", npy("<f4", {1, 3, 32, 32}, std::vector<float>(3072)));
  values.add("classes_output.npy", npy("<f4", {1, 10}, std::vector<float>(10)));
  values.write(expand("{dir}/out/values.npz"));
  const ProgramRun run = run_line(
      "lenslet diff --device cpu {source}/tests/models/onnx/mean_pool.onnx --against {dir}/out/values.npz "
      "--json "
      "{dir}/out/diff.json",
      signal_at("print:samples in batches", SIGTERM, 1));
  expect_run(run, kInterrupted, "", "interrupted by SIGTERM");
  const nlohmann::json document = read_json("{dir}/out/diff.json");
  EXPECT_EQ(document.at("status"), "INTERRUPTED");
  EXPECT_EQ(document.at("comparisons").at(0).at("status"), "SKIPPED");
}

TEST(Signals, ProfileWritesItsRowsAlsoBeforeItMeasures) {
  const std::string file = "{dir}/out/profile.json";
  for (const char* const point : {"print:LeNet-5,clock:20", "print:ceilings,clock:1"}) {
    expect_run(
        run_line("lenslet profile --device cpu --threads 1 --json " + file, signal_at(point, SIGINT, 1)),
        kInterrupted, "", "interrupted by SIGINT");
    const nlohmann::json document = read_json(file);
    EXPECT_EQ(document.at("status"), "INTERRUPTED") << point;
    const nlohmann::json& row = document.at("results").at(0);
    EXPECT_EQ(row.at("name"), "profile") << point;
    EXPECT_EQ(row.at("status"), "SKIPPED") << point;
    expect_words(row.at("reason"), "interrupted");
    fs::remove(expand(file));
  }
}

// nohup: an ignored signal stays ignored.
TEST(Signals, AHangupThatIsIgnoredStaysIgnored) {
  ProgramOptions options = signal_at("print:data:,clock:5", SIGHUP, 1);
  options.ignored_signals = {SIGHUP};
  expect_run(run_line("{eval}", options), kOk);
}

// `timeout -s HUP 10 convbench …` signals the program, and then its own process group, which includes the program.
TEST(Signals, OneSentTwiceAtOnceIsOneRequest) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string file = fixture_folder() + "/out/once.json";
    ProgramOptions options = signal_at("print:ceilings,clock:30", signal, 2);
    options.environment["LENSLET_TEST_SIGNAL_SAME"] = "1";
    expect_run(run_line("{bench} ic1ih28oc1kh3 --threads 1 --min-time-ms 3600000 --json " + file, options),
               kInterrupted, "", "every file that was written is whole");
    EXPECT_TRUE(nlohmann::json::accept(read_text(file))) << file;
    fs::remove(file);
  }
}

// Whether a process handles SIGINT and is sleeping.
bool waits(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::map<std::string, std::string> values;
  for (std::string key, value; std::getline(status, key, ':') && std::getline(status, value);)
    values[key] = value;
  const bool handles = (std::strtoull(values["SigCgt"].c_str(), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
  return handles && values["State"].find('S') != std::string::npos;
}

// Ctrl-C ends the wait for a FIFO without a writer.
TEST(Signals, AReadThatWaitsEnds) {
  ProgramOptions options;
  options.keep_stdin_open = true;
  int asleep = 0;  // consecutive checks that found it asleep; before the read it sleeps for short times only
  options.interrupt_when = [&](const ProgramRun&, pid_t program) {
    asleep = waits(program) ? asleep + 1 : 0;
    return asleep >= 5;
  };
  expect_run(run_line("{classify} -", options), kInterrupted);
}

}  // namespace
}  // namespace lenslet::test
