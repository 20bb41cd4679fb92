// Several programs write one file at the same time: a reader finds a complete file at any moment.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cli/fixtures/files.h"
#include "tests/support/test_names.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// By the ending of its name: the check that a file of that kind is complete.
bool whole(const std::string& name, const std::string& bytes) {
  if (ends_with(name, ".json")) return nlohmann::json::accept(bytes);
  if (ends_with(name, ".csv")) return ends_with(bytes, "\n") && bytes.find(',') != std::string::npos;
  if (ends_with(name, ".png")) return ends_with(bytes, std::string("IEND\xae\x42\x60\x82", 8));
  if (ends_with(name, ".npy")) return bytes.size() == 128 + 20 * 10 * sizeof(float);
  return ends_with(name, ".html") && ends_with(bytes, "</html>\n");
}

struct Shared {
  const char* name;
  const char* line;  // {out} is the folder
  std::vector<const char*> files;
  int writers, rounds;
};

std::ostream& operator<<(std::ostream& out, const Shared& shared) { return out << shared.line; }

class ConcurrencyTest : public testing::TestWithParam<Shared> {
 protected:
  void SetUp() override {
    out_ = fixture_folder() + "/shared";
    fs::remove_all(out_);
    fs::create_directories(out_);
  }
  ProgramRun run(const std::string& line) const { return run_line(expand(line, {{"{out}", out_}})); }
  std::string out_;
};

TEST_P(ConcurrencyTest, ReadersSeeWholeFiles) {
  fixture_folder();  // before threads start
  std::atomic<int> writing{GetParam().writers};
  std::vector<ProgramRun> last(static_cast<size_t>(GetParam().writers));
  std::vector<std::thread> writers;
  for (ProgramRun& mine : last) {
    writers.emplace_back([&] {
      for (int round = 0; round < GetParam().rounds; ++round) {
        mine = run(GetParam().line);
        if (mine.exit_code != 0) break;
      }
      --writing;
    });
  }
  long reads = 0, broken = 0;
  std::string first_broken;
  bool ended = false;
  while (!ended) {
    ended = writing == 0;  // and the files are read once more
    for (const char* name : GetParam().files) {
      if (!fs::exists(out_ + "/" + name)) continue;
      const std::string bytes = read_text(out_ + "/" + name);
      ++reads;
      if (whole(name, bytes) || broken++ > 0) continue;
      first_broken = std::string(name) + ": " + bytes;
    }
  }
  for (std::thread& writer : writers) writer.join();
  for (const ProgramRun& mine : last) {
    if (mine.exit_code == 4 && mine.err.find("python3") != std::string::npos) GTEST_SKIP() << mine.err;
    EXPECT_EQ(mine.exit_code, 0) << mine.err;
  }
  EXPECT_EQ(broken, 0) << "of " << reads << " reads: " << first_broken;
  EXPECT_GT(reads, 0);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(out_)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(whole(name, read_text(entry.path().string()))) << name;
    ++files;
  }
  EXPECT_EQ(files, GetParam().files.size());
}

const Shared kShared[] = {
    {"eval",
     "{eval} --threads 1 --json {out}/r.json --csv {out}/r.csv --misses {out}/m.csv --logits {out}/l.npy "
     "--contact-sheet {out}/s.png --save-plan {out}/p.json",
     {"r.json", "r.csv", "m.csv", "l.npy", "s.png", "p.json"},
     3,
     2},
    {"classify",
     "{classify} --threads 1 --limit 5000 --json {out}/r.json --csv {out}/r.csv "
     "{dir}/many/t10k-images-idx3-ubyte",
     {"r.json", "r.csv"},
     4,
     4},
    {"profile",
     "lenslet profile --device cpu --threads 1 {quick} --trace {out}/t.json --json {out}/r.json",
     {"t.json", "r.json"},
     2,
     1},
    {"report",
     "{measure} --threads 1 --json {out}/r.json --csv {out}/r.csv --report {out}/r.html",
     {"r.json", "r.csv", "r.html"},
     2,
     1},
};

INSTANTIATE_TEST_SUITE_P(Writers, ConcurrencyTest, testing::ValuesIn(kShared), ByName());

// Without a lock both would read the file, add their rows and write it back, and one run's rows would be lost.
TEST(Resume, TwoRunsDoNotShareAFile) {
  const std::string file = fixture_folder() + "/out/both.json";
  const std::string link = file + ".link";  // to a name that does not exist yet
  fs::create_symlink("both.json", link);
  const std::string line =
      "convbench run --device cpu --threads 1 --backend direct --cache hot --warmup-ms 0 --resume --json ";
  const std::string short_run = " --min-time-ms 1 --problem ic1ih9oc1kh1";
  ProgramRun first;
  std::atomic<bool> ended{false}, refused{false};
  std::thread other([&] {
    ProgramOptions options;
    options.interrupt_when = [&](const ProgramRun&, pid_t) { return refused.load(); };
    // Takes minutes.
    first = run_line(line + file + " --min-time-ms 3600000 --problem mb64ic64ih64oc64kh3", options);
    ended = true;
  });
  while (!ended && !fs::exists(file + ".lenslet-lock"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(fs::exists(file + ".lenslet-lock"));
  for (const std::string& name : {file, link}) {
    expect_run(run_line(line + name + short_run), kOutput, "", name + ": another run with --resume");
  }
  refused = true;
  other.join();
  expect_run(first, kInterrupted);
  EXPECT_FALSE(fs::exists(file + ".lenslet-lock"));
  // The lock of a killed run blocks no later run.
  std::ofstream(file + ".lenslet-lock") << "";
  expect_words(run_line(line + file + short_run).err, "min_time_ms");  // other settings: it read the file
  EXPECT_FALSE(fs::exists(file + ".lenslet-lock"));
}

}  // namespace
}  // namespace lenslet::test
