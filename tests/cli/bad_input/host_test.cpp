// The environment of a program: links in the path of its outputs, redirected and slow streams, limits, and the name by
// which it is started.
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/cli/bad_input/bad_input.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

const std::string kEval = "{eval} ";
const std::string kClassify = "{classify} {dir}/many/t10k-images-idx3-ubyte --limit 2000 ";
const std::string kRun = "{measure} --threads 1 ";

/// A private folder of this test, removed at its end.
class Host : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      EXPECT_NE(entry.path().filename().string().rfind(".lenslet-", 0), 0u)
          << entry.path() << " was left behind";
    }
    fs::remove_all(folder_);
  }
  std::string in(const std::string& name) const { return (folder_ / name).string(); }
  const fs::path folder_ = fs::path(fixture_folder()) / "host";
};

void expect_refusal(const ProgramRun& run, int exit_code, const std::string& words) {
  expect_run(run, exit_code, "", words);
  EXPECT_EQ(count_lines(run.err), 1) << run.err;
}

// The modules are beside the program, and a running program has no place once its file is deleted.
TEST_F(Host, AProgramWhoseFileIsGoneStatesWhyItHasNoModules) {
  const std::string gone = "'" + in("gone") + "'";
  ProgramOptions options;
  options.unset = {"LENSLET_MODULE_PATH"};
  const std::string script = "cp '" + program_path("lenslet") + "' " + gone + " && exec 3<" + gone +
                             " && rm " + gone +
                             " && exec /proc/self/fd/3 profile --device cpu --backend onednn";
  const ProgramRun run = run_program({"/bin/sh", "-c", script}, options);
  expect_refusal(
      run, kUnavailable,
      "onednn.so was not found: the program's own folder is unknown (was its file replaced?); set LENSLET_");
}

TEST_F(Host, AnOutputThatNamesAnInputIsRefused) {
  fs::copy(fs::path(fixture_folder()) / "data", in("data"));
  const std::string labels = in("data/t10k-labels-idx1-ubyte"), before = read_text(labels);
  fs::create_symlink(labels, in("link"));
  fs::create_symlink(in("link"), in("link_to_link"));
  fs::create_hard_link(labels, in("hard_link"));
  for (const char* name : {"data/t10k-labels-idx1-ubyte", "data/../data/t10k-labels-idx1-ubyte", "link",
                           "link_to_link", "hard_link"}) {
    expect_refusal(run_line("lenslet eval --device cpu --data " + in("data") + " --json " + in(name)), kUsage,
                   "--data and --json name the same file");
  }
  ProgramOptions appending;
  appending.append_output_to = labels;
  expect_refusal(run_line("lenslet eval --device cpu --data " + in("data") + " --json -", appending), kUsage,
                 "--data and --json name the same file");
  EXPECT_EQ(read_text(labels), before);
}

TEST_F(Host, ARedirectedFileIsAppendedToUnderEachOfItsNames) {
  expect_run(run_line(kEval + "--json " + in("plain.json")), kOk);
  const std::string expected = read_text(in("plain.json"));
  for (const std::string& name : {std::string("-"), std::string("/dev/stdout"), std::string("/dev/fd/1"),
                                  std::string("/proc/self/fd/1"), in("log")}) {
    write_file(in("log"), "kept\n");
    struct stat before = {}, after = {};
    ::stat(in("log").c_str(), &before);
    ProgramOptions appending;
    appending.append_output_to = in("log");
    const ProgramRun run = expect_run(run_line(kEval + "--json " + name, appending), kOk, "", "images");
    ::stat(in("log").c_str(), &after);
    EXPECT_EQ(before.st_ino, after.st_ino) << name << ": another file was put in its place";
    const std::string log = read_text(in("log"));
    // Times differ; text for people went to standard error.
    EXPECT_EQ(log.rfind("kept\n{", 0), 0u) << name << ": " << log;
    EXPECT_NE(log.find("\"schema\""), std::string::npos) << name;
    EXPECT_EQ(log.substr(log.size() - 2), "}\n") << name;
    EXPECT_EQ(log.find("confusion matrix"), std::string::npos) << name;
    EXPECT_LT(log.size(), expected.size() + 200) << name << ": more than one file";
  }
}

TEST_F(Host, RowsAreWrittenOnceToARedirectedFile) {
  ProgramOptions appending;
  appending.append_output_to = in("log");
  expect_run(run_line(kRun + "--problem ic1ih9oc1kh1 --json /dev/stdout", appending), kOk);
  const std::string log = read_text(in("log")), schema = "\"schema\"";
  ASSERT_NE(log.find(schema), std::string::npos);
  EXPECT_EQ(log.find(schema), log.rfind(schema));
}

TEST_F(Host, ANonBlockingPipeIsWaitedFor) {
  const std::string line = kClassify + "--csv -";
  const ProgramRun plain = expect_run(run_line(line), kOk);
  ASSERT_GT(plain.out.size(), size_t{1} << 16) << "fits into a pipe";
  ProgramOptions slow;
  slow.read_after_s = 2;
  const ProgramRun run = expect_run(run_line(line, slow), kOk);
  EXPECT_EQ(run.out, plain.out);
}

TEST_F(Host, AFileSizeLimitIsAnOutputError) {
  ProgramOptions limited;
  limited.limits[RLIMIT_FSIZE] = 10000;
  write_file(in("old.csv"), "old\n");
  expect_refusal(run_line(kClassify + "--csv " + in("old.csv"), limited), kOutput,
                 "old.csv: cannot be written: File too large");
  EXPECT_EQ(read_text(in("old.csv")), "old\n");
}

// Some systems refuse to follow other users' links in world-writable folders. A preloaded library makes every system
// refuse them.
TEST_F(Host, DeniedLinksAreNotFollowed) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime must be the first library, here another is";
  for (const auto& [name, target] :
       {std::pair("away.denied", "victim"), std::pair("circle.denied", "circle_too.denied"),
        std::pair("circle_too.denied", "circle.denied")})
    fs::create_symlink(in(target), in(name));
  ProgramOptions denied;
  denied.environment["LD_PRELOAD"] = LENSLET_DENIED_STAT;
  for (const char* name : {"away.denied", "circle.denied"}) {
    expect_refusal(run_line(kEval + "--json " + in(name), denied), kOutput,
                   std::string(name) + ": cannot be written: Permission denied");
  }
  EXPECT_FALSE(fs::exists(in("victim")));
}

TEST_F(Host, ResumingLocksBesideTheFileAndRemovesNoOther) {
  const std::string line = kRun + "--resume --json ";
  write_file(in("Cargo.lock"), "");
  expect_run(run_line(line + in("Cargo")), kOk);
  EXPECT_TRUE(fs::exists(in("Cargo.lock")));
  EXPECT_FALSE(fs::exists(in("Cargo.lenslet-lock")));
  write_file(in("Cargo.lenslet-lock"), "mine\n");
  expect_refusal(run_line(line + in("Cargo")), kOutput, "Cargo.lenslet-lock: expected an empty file");
  EXPECT_EQ(read_text(in("Cargo.lenslet-lock")), "mine\n");
}

TEST_F(Host, ModulesAreFoundFromTheProgramItselfWhateverItsName) {
  const std::string line = "backends --device cpu --threads 1 --csv -", module = "lenslet_conv_cpu_onednn.so";
  const auto expect_modules = [](const ProgramRun& run, const std::string& name) {
    expect_run(run, kOk, "onednn");
    for (const char* reason : {"was not found", "could not be opened"})
      EXPECT_EQ(run.out.find(reason), std::string::npos) << name << ": " << run.out;
  };
  expect_modules(lenslet(line), "its path");
  write_file(in("evil/" + module), "no module at all");
  ProgramOptions renamed;
  renamed.folder = folder_.string();
  for (const char* name : {"evil/lenslet", "./lenslet", "lenslet", ""}) {
    renamed.started_as = name;
    expect_modules(lenslet(line, renamed), name);
  }
  fs::create_symlink(program_path("lenslet"), in("linked"));
  const ProgramRun linked =
      run_program({in("linked"), "backends", "--device", "cpu", "--threads", "1", "--csv", "-"});
  expect_modules(linked, "a link");
}

TEST_F(Host, AScriptInAFolderAboveTheProgramIsNotRun) {
  // A copy of the program below a folder that contains another user's script.
  fs::create_directories(in("build/bin"));
  write_file(in("apps/report/report.py"), "open('" + in("ran") + "', 'w')\n");
  fs::copy_file(program_path("convbench"), in("build/bin/convbench"));
  const ProgramRun run = expect_run(run_program({in("build/bin/convbench"),
                                                 "run",
                                                 "--device",
                                                 "cpu",
                                                 "--threads",
                                                 "1",
                                                 "--backend",
                                                 "direct",
                                                 "--cache",
                                                 "hot",
                                                 "--warmup-ms",
                                                 "0",
                                                 "--min-time-ms",
                                                 "1",
                                                 "--problem",
                                                 "ic1ih8oc1kh1",
                                                 "--json",
                                                 in("r.json"),
                                                 "--report",
                                                 in("r.html")}),
                                    kUnavailable, "", "share/lenslet/report/report.py");
  EXPECT_FALSE(fs::exists(in("ran")));
}

TEST_F(Host, AReportOfNamesThatAreNotUtf8LeavesNoOtherFile) {
  const ProgramRun run =
      run_line(kRun + "--problem ic1ih9oc1kh1 --json " + in("r\xff.json") + " --report " + in("p\xfe.html"));
  if (run.exit_code == kUnavailable) GTEST_SKIP() << run.err;
  expect_run(run, kOk);
  EXPECT_TRUE(fs::exists(in("r\xff.json")));
  EXPECT_TRUE(fs::exists(in("p\xfe.html")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(Host, APageGoesToStandardOutputUnderEachOfItsNames) {
  // Without rows: figures take longer to draw than all else, and are tested with the script.
  write_file(in("results.json"), "{\"schema\": \"lenslet.results/1\", \"results\": []}");
  const std::string line = "lenslet report " + in("results.json") + " --html ";
  const ProgramRun file = run_line(line + in("page.html"));
  if (file.exit_code == kUnavailable) GTEST_SKIP() << file.err;
  expect_run(file, kOk);
  const std::string page = read_text(in("page.html"));
  EXPECT_TRUE(expect_run(run_line(line + "-"), kOk).out == page);  // without printing both
  for (const std::string& name : {std::string("/dev/stdout"), in("log")}) {
    write_file(in("log"), "kept\n");
    ProgramOptions appending;
    appending.append_output_to = in("log");
    expect_run(run_line(line + name, appending), kOk);
    EXPECT_TRUE(read_text(in("log")) == "kept\n" + page) << name;
  }
  ProgramOptions folder;  // a page of that name is no standard output
  folder.folder = folder_.string();
  EXPECT_FALSE(fs::exists(in("-")));
  expect_run(run_line(line + "./-", folder), kOk);
  EXPECT_TRUE(fs::exists(in("-")));
}

TEST_F(Host, ThreadsThatCannotStartAreExitCode6) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs the address space that is limited here";
  ProgramOptions limited;
  limited.limits[RLIMIT_AS] = uint64_t{600} << 20;
  expect_refusal(run_line(kClassify + "--batch-size 2000 --threads 1024 --csv " + in("x.csv"), limited),
                 kMemory, " of 1024 could not be started (");
  expect_refusal(run_line("{bench} mb1ic64ih64oc64kh3 --threads 1024 --backend onednn {quick}", limited),
                 kMemory, " of 1024 could not be started (");
}

TEST_F(Host, MemoryThatRunsOutInAProgramIsExitCode6) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs the address space that is limited here";
  // A file within all limits of its kind that exceeds the memory: std::bad_alloc in its reader.
  write_file(in("data/t10k-images-idx3-ubyte"), "");
  write_file(in("data/t10k-labels-idx1-ubyte"), "");
  fs::resize_file(in("data/t10k-images-idx3-ubyte"), uintmax_t{64} << 20);
  ProgramOptions limited;
  limited.limits[RLIMIT_AS] = uint64_t{64} << 20;  // enough for the program, but not for the file
  expect_refusal(run_line("lenslet eval --device cpu --threads 1 --data " + in("data"), limited), kMemory,
                 "out of memory; ");
}

}  // namespace
}  // namespace lenslet::test
