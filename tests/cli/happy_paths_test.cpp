// What the subcommands print and write when all is well.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Strict: throws for NaN, for what follows the document, for bytes that are not UTF-8.
json read_json(const std::string& path) { return json::parse(read_text(expand(path))); }

void expect_environment(const json& document) {
  for (const char* key : {"version", "git", "dirty", "argv", "time_utc"}) {
    EXPECT_TRUE(document.at("meta").contains(key)) << key;
  }
  EXPECT_TRUE(document.at("host").contains("cpu"));
  EXPECT_TRUE(document.at("devices").is_array());
  for (const json& library : document.at("libs")) {
    EXPECT_TRUE(library.contains("name") && library.contains("version") && library.contains("path"));
  }
}

void expect_result_rows(const json& rows) {
  const std::set<std::string> statuses = {"PASSED", "FAILED", "UNSUPPORTED", "SKIPPED", "SUSPECT", "ERROR"};
  ASSERT_FALSE(rows.empty());
  for (const json& row : rows) {
    for (const char* key : {"problem",      "backend",          "math",     "layout",      "cache",
                            "status",       "reason",           "samples",  "time_ns",     "stages_ns",
                            "setup_ns",     "workspace_bytes",  "flops",    "bytes_ideal", "gflops",
                            "gbytes_per_s", "ceiling_fraction", "bound_by", "error",       "repro"}) {
      EXPECT_TRUE(row.contains(key)) << key << " is missing in " << row.dump();
    }
    EXPECT_EQ(statuses.count(row.at("status").get<std::string>()), 1u) << row.dump();
    EXPECT_TRUE(row.at("status") == "PASSED" || !row.at("reason").is_null()) << row.dump();
    if (!row.at("time_ns").is_null()) {
      for (const char* key : {"min", "p10", "median", "p90", "max"})
        EXPECT_GE(row.at("time_ns").at(key).get<double>(), 0);
    }
  }
}

TEST(Global, VersionAndHelp) {
  const ProgramRun version = lenslet("--version");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out.rfind("lenslet ", 0), 0u) << version.out;
  const ProgramRun help = lenslet("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("Exit codes"), std::string::npos);
  for (const char* command : {"classify", "eval", "profile", "bench", "tune", "backends", "doctor"}) {
    const ProgramRun about = lenslet(std::string(command) + " --help");
    EXPECT_EQ(about.exit_code, 0);
    EXPECT_NE(about.out.find(std::string("  lenslet ") + command), std::string::npos)
        << "no example: " << about.out;
    EXPECT_TRUE(about.err.empty());
  }
}

TEST(Classify, ReadsABar) {
  const ProgramRun run = lenslet("classify --device cpu {dir}/pics/one.pgm");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("one.pgm: 1 "), std::string::npos) << run.out;
  EXPECT_TRUE(run.err.empty()) << run.err;
}

TEST(Classify, ReadsStandardInput) {
  ProgramOptions options;
  options.standard_input = read_text(expand("{dir}/pics/one.pgm"));
  const ProgramRun run = lenslet("classify --device=cpu -", options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find(": 1 "), std::string::npos) << run.out;
}

TEST(Classify, FlagsABlankPicture) {
  const ProgramRun run = lenslet("classify --device cpu {dir}/pics/blank.pgm --json {dir}/out/blank.json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("blank"), std::string::npos);
  const json row = read_json("{dir}/out/blank.json").at("results").at(0);
  EXPECT_TRUE(row.at("blank").get<bool>());
  EXPECT_TRUE(row.at("digit").is_null());
}

TEST(Classify, AFolderIsReadInOrderOfNames) {
  const ProgramRun run = lenslet("classify --device cpu {dir}/pics");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_LT(run.out.find("blank.pgm"), run.out.find("one.pgm"));
  EXPECT_LT(run.out.find("one.pgm"), run.out.find("with space.pgm"));
}

TEST(Classify, AFolderOfBitmapsIsNotEmpty) {
  const ProgramRun run = lenslet("classify --device cpu {dir}/bits");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("black.pbm: "), std::string::npos) << run.out;
}

TEST(Classify, ABadFileDoesNotStopTheOthers) {
  const ProgramRun run = lenslet(
      "classify --device cpu {dir}/bad/text.png {dir}/pics/one.pgm {dir}/bad/none.png --json "
      "{dir}/out/some.json");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.out.find("one.pgm: 1 "), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("text.png"), std::string::npos);
  EXPECT_NE(run.err.find("none.png"), std::string::npos);
  const json document = read_json("{dir}/out/some.json");
  EXPECT_EQ(document.at("failures"), 2);
  ASSERT_EQ(document.at("results").size(), 3u);
  EXPECT_TRUE(document.at("results")[0].contains("error"));
  EXPECT_EQ(document.at("results")[1].at("digit"), 1);
}

TEST(Classify, OddNamesAreEscapedAndJsonStaysValid) {
  const ProgramRun run =
      lenslet("classify --device cpu --json {dir}/out/odd.json --csv {dir}/out/odd.csv {dir}/odd");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("new\\nline.pgm: 1"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("not-utf8-\\xff\\xfe.pgm: 1"), std::string::npos) << run.out;
  EXPECT_EQ(read_json("{dir}/out/odd.json").at("results").size(), 3u);
  const std::string csv = read_text(expand("{dir}/out/odd.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
}

TEST(Classify, ANameThatLooksLikeAFlagFollowsTwoDashes) {
  ProgramOptions options;
  options.folder = fixture_folder() + "/odd";
  const ProgramRun run = lenslet("classify --device cpu -- -dash.pgm", options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("-dash.pgm: 1"), std::string::npos) << run.out;
}

TEST(Classify, IdxFilesByLimitAndIndex) {
  const std::string file = "{dir}/gz/t10k-images-idx3-ubyte.gz";
  const ProgramRun all = lenslet("classify --device cpu " + file);
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 20);
  const ProgramRun some = lenslet("classify --device cpu --limit 3 " + file);
  EXPECT_EQ(std::count(some.out.begin(), some.out.end(), '\n'), 3);
  const ProgramRun one = lenslet("classify --device cpu --index 7 " + file);
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 1);
  EXPECT_NE(one.out.find("[7]: 1"), std::string::npos) << one.out;
}

TEST(Classify, ExplainShowsThePictureAndEachStep) {
  const ProgramRun run = lenslet("classify --device cpu --explain {dir}/pics/one.pgm");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("what the model sees"), std::string::npos);
  EXPECT_GT(std::count(run.out.begin(), run.out.end(), '\n'), 50);
}

TEST(Classify, JsonOnStandardOutputSendsTextToStandardError) {
  const ProgramRun run = lenslet("classify --device cpu --json - {dir}/pics/one.pgm");
  EXPECT_EQ(run.exit_code, 0);
  const json document = json::parse(run.out);
  EXPECT_EQ(document.at("schema"), "lenslet.classify/1");
  expect_environment(document);
  const json& row = document.at("results").at(0);
  EXPECT_EQ(row.at("digit"), 1);
  EXPECT_EQ(row.at("top").size(), 3u);
  EXPECT_NE(run.err.find("one.pgm: 1"), std::string::npos);
}

// Events of a file under watch, one letter each: o opened, c closed.
class Watch {
 public:
  explicit Watch(const std::string& file) : descriptor_(::inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(::inotify_add_watch(descriptor_, file.c_str(), IN_OPEN | IN_CLOSE), 0) << file;
  }
  ~Watch() { ::close(descriptor_); }
  int openings() const {
    alignas(inotify_event) char events[4096];
    int count = 0;
    for (ssize_t got = 0; (got = ::read(descriptor_, events, sizeof events)) > 0;) {
      for (ssize_t at = 0; at < got;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(events + at);
        count += (event->mask & IN_OPEN) != 0;
        at += static_cast<ssize_t>(sizeof *event + event->len);
      }
    }
    return count;
  }

 private:
  int descriptor_;
};

// A picture, small or large, a picture of a folder, and an IDX file: alone and with others.
TEST(Classify, OpensEachFileOnce) {
  for (const char* name :
       {"pics/one.pgm", "large/bars.ppm", "large/bars.png", "data/t10k-images-idx3-ubyte"}) {
    const std::string file = expand(std::string("{dir}/") + name);
    for (const std::string& arguments : {file, file + " {dir}/odd", fs::path(file).parent_path().string()}) {
      if (arguments != file && name[0] == 'd') continue;  // folders hold pictures alone
      const Watch watch(file);
      const ProgramRun run = lenslet("classify --device cpu " + arguments);
      EXPECT_EQ(run.exit_code, 0) << run.err;
      EXPECT_EQ(watch.openings(), 1) << arguments;
    }
  }
}

TEST(Classify, ThousandsOfFilesTakeNoMoreMemoryThanAFew) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  const auto run_with = [](int count) {
    std::string arguments = "classify --device cpu --threads 2 --csv {dir}/out/many.csv";
    for (int i = 0; i < count; ++i) arguments += " {dir}/pics/one.pgm";
    return lenslet(arguments);
  };
  const ProgramRun few = run_with(100), many = run_with(3000);
  ASSERT_EQ(few.exit_code, 0) << few.err;
  ASSERT_EQ(many.exit_code, 0) << many.err;
  constexpr long kMoreKib = 8 * 1024;
  EXPECT_LT(many.max_rss_kib, few.max_rss_kib + kMoreKib);
}

TEST(Classify, LargePicturesAreDecodedOneAfterAnother) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  // By the size of the file, and by the size that the header of a short file states.
  for (const std::string name : {"bars.ppm", "bars.png"}) {
    const auto memory_of = [&](int count) {
      std::string arguments = "classify --device cpu --threads 8 --csv {dir}/out/large.csv";
      for (int i = 0; i < count; ++i) arguments += " {dir}/large/" + name;
      const ProgramRun run = lenslet(arguments);
      EXPECT_EQ(run.exit_code, 0) << run.err;
      return run.max_rss_kib;
    };
    constexpr long kMoreKib = 12 * 1024;  // less than a second picture at the same time would take
    EXPECT_LT(memory_of(8), memory_of(1) + kMoreKib) << name;
  }
}

TEST(Classify, Samples) {
  const std::string folder = expand("{source}/samples");
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no samples/ in this source tree";
  const ProgramRun run = lenslet("classify --device cpu --json - {source}/samples");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  int right = 0, all = 0;
  const json results = json::parse(run.out).at("results");
  for (const json& row : results) {
    const std::string name = fs::path(row.at("file").get<std::string>()).filename().string();
    if (name.rfind("digit_", 0) != 0) continue;
    ++all;
    right += row.at("digit") == name[6] - '0' ? 1 : 0;
  }
  EXPECT_GE(all, 20);
  EXPECT_GE(right, all - 2) << run.err;
}

TEST(Eval, CountsLossAndFiles) {
  const ProgramRun run = lenslet(
      "eval --device cpu --data {dir}/data --batch-size 7 --json {dir}/out/eval.json --csv "
      "{dir}/out/eval.csv --misses "
      "{dir}/out/misses.csv --logits {dir}/out/logits.npy --contact-sheet {dir}/out/sheet.png --save-plan "
      "{dir}/out/plan.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json document = read_json("{dir}/out/eval.json");
  EXPECT_EQ(document.at("schema"), "lenslet.eval/1");
  expect_environment(document);
  EXPECT_EQ(document.at("count"), 20);
  const int correct = document.at("correct");
  EXPECT_EQ(static_cast<size_t>(20 - correct), document.at("misses").size());
  int diagonal = 0, total = 0;
  for (size_t i = 0; i < 10; ++i) {
    diagonal += document.at("confusion")[i][i].get<int>();
    for (const json& cell : document.at("confusion")[i]) total += cell.get<int>();
  }
  EXPECT_EQ(diagonal, correct);
  EXPECT_EQ(total, 20);
  EXPECT_LE(document.at("accuracy_interval_95")[0].get<double>(), document.at("accuracy").get<double>());
  EXPECT_TRUE(document.at("throughput").at("bitwise_repeatable").get<bool>());
  const std::string npy = read_text(expand("{dir}/out/logits.npy"));
  EXPECT_EQ(npy.substr(1, 5), "NUMPY");
  EXPECT_EQ(npy.size(), 128u + 20 * 10 * sizeof(float));
  EXPECT_EQ(read_text(expand("{dir}/out/sheet.png")).substr(0, 4), "\x89PNG");
  const std::string misses = read_text(expand("{dir}/out/misses.csv"));
  EXPECT_EQ(std::count(misses.begin(), misses.end(), '\n'), 21 - correct);
}

TEST(Eval, TheContactSheetCanBeReadAgain) {
  ASSERT_EQ(lenslet("eval --device cpu --data {dir}/data --contact-sheet {dir}/out/again.png").exit_code, 0);
  ASSERT_EQ(lenslet("eval --device cpu --data {dir}/data --contact-sheet {dir}/out/again.pgm").exit_code, 0);
  for (const char* name : {"again.png", "again.pgm"}) {
    const ProgramRun run = lenslet(std::string("classify --device cpu {dir}/out/") + name);
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
}

TEST(Eval, APlanIsReplayedBitForBit) {
  ASSERT_EQ(lenslet("eval --device cpu --data {dir}/data --backend conv1=im2col_gemm --save-plan "
                    "{dir}/out/p.json --logits "
                    "{dir}/out/a.raw")
                .exit_code,
            0);
  const ProgramRun replay =
      lenslet("eval --device cpu --data {dir}/data --plan {dir}/out/p.json --logits {dir}/out/b.safetensors");
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_NE(replay.out.find("conv1 im2col_gemm"), std::string::npos) << replay.out;
  EXPECT_TRUE(replay.err.empty()) << replay.err;
  const std::string plan = read_text(expand("{dir}/out/p.json"));
  EXPECT_EQ(plan.substr(plan.size() - 3), "\n}\n");
  const std::string a = read_text(expand("{dir}/out/a.raw")),
                    b = read_text(expand("{dir}/out/b.safetensors"));
  ASSERT_EQ(a.size(), 20 * 10 * sizeof(float));
  EXPECT_EQ(a, b.substr(b.size() - a.size()));
}

TEST(Eval, APlanMadeElsewhereIsReplayedWithANote) {
  ASSERT_EQ(lenslet("eval --device cpu --data {dir}/data --save-plan {dir}/out/here.json").exit_code, 0);
  json plan = read_json("{dir}/out/here.json");
  plan["device_name"] = "a card of another make";
  std::ofstream(expand("{dir}/out/elsewhere.json")) << plan;
  const ProgramRun run = lenslet("eval --device cpu --data {dir}/data --plan {dir}/out/elsewhere.json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("elsewhere.json was made by version"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("a card of another make"), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(Eval, TheDefaultFolderIsData) {
  const ProgramRun run = lenslet("eval --device cpu --limit 5");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("5 of 20 images"), std::string::npos) << run.out;
}

TEST(Eval, WithoutDataItTellsWhereToGetIt) {
  ProgramOptions options;
  options.folder = fixture_folder() + "/away";
  const ProgramRun run = lenslet("eval --device cpu", options);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("./dev mnist"), std::string::npos) << run.err;
}

TEST(Eval, BelowMinAccuracyIsACheckThatFailed) {
  const ProgramRun run =
      lenslet("eval --device cpu --data {dir}/data --min-accuracy 0.9 --json {dir}/out/low.json");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("--min-accuracy"), std::string::npos) << run.err;
  EXPECT_EQ(read_json("{dir}/out/low.json").at("count"), 20);
  EXPECT_EQ(lenslet("eval --device cpu --data {dir}/data --min-accuracy 0.05").exit_code, 0);
}

TEST(Eval, LogitsThatAreNotNumbersAreACheckThatFailed) {
  const ProgramRun run = lenslet(
      "eval --device cpu --data {dir}/data --weights {dir}/w/largest.safetensors --json {dir}/out/nan.json "
      "--misses "
      "{dir}/out/nan.csv --contact-sheet {dir}/out/nan.pgm");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("not numbers"), std::string::npos) << run.err;
  const json document = read_json("{dir}/out/nan.json");
  EXPECT_EQ(document.at("not_numbers"), 20);
  EXPECT_TRUE(document.at("loss").is_null());
  EXPECT_TRUE(document.at("misses").at(0).at("predicted").is_null());
  const ProgramRun one =
      lenslet("classify --device cpu --weights {dir}/w/largest.safetensors {dir}/pics/one.pgm --json -");
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_TRUE(json::parse(one.out).at("results").at(0).at("digit").is_null());
}

TEST(Eval, TheMatrixRunsEveryCombination) {
  const ProgramRun run =
      lenslet("eval --device cpu --data {dir}/data --backend-matrix --json {dir}/out/matrix.json");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const json document = read_json("{dir}/out/matrix.json");
  EXPECT_EQ(document.at("schema"), "lenslet.matrix/1");
  std::set<std::string> specs;
  for (const json& row : document.at("rows")) {
    specs.insert(row.at("backends").get<std::string>() + " " + row.at("math").get<std::string>());
    EXPECT_TRUE(row.at("status") != "PASSED" || row.at("max_logit_difference").get<double>() < 1e-3)
        << row.dump();
  }
  EXPECT_EQ(specs.size(), document.at("rows").size());
  for (const char* a : {"direct", "im2col_gemm"}) {
    for (const char* b : {"direct", "im2col_gemm"}) {
      for (const char* linear : {"direct", "gemm"}) {
        const std::string fc = std::string(",fc1=") + linear + ",fc2=direct,fc3=gemm";
        EXPECT_EQ(specs.count(std::string("conv1=") + a + ",conv2=" + b + fc + " fp32"), 1u)
            << a << " " << b << fc;
      }
    }
  }
}

TEST(Eval, TheMatrixLeavesAloneWhatBackendPins) {
  const ProgramRun run = lenslet(
      "eval --device cpu --data {dir}/data --backend-matrix --backend "
      "conv1=direct,fc1=direct,fc2=direct,fc3=direct "
      "--json {dir}/out/pinned.json");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const json pinned = read_json("{dir}/out/pinned.json");
  for (const json& row : pinned.at("rows")) {
    EXPECT_EQ(row.at("backends").get<std::string>().rfind("conv1=direct,conv2=", 0), 0u) << row.dump();
  }
}

TEST(Eval, Mnist) {
  const char* const folder = std::getenv("LENSLET_MNIST_DIR");
  if (folder == nullptr) GTEST_SKIP() << "LENSLET_MNIST_DIR is not set";
  const ProgramRun run = lenslet(
      std::string("eval --device cpu --min-accuracy 0.996 --json {dir}/out/mnist.json --data ") + folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json document = read_json("{dir}/out/mnist.json");
  EXPECT_EQ(document.at("count"), 10000);
  EXPECT_EQ(document.at("correct"), 9963);
}

TEST(Profile, RowsAddUpAndFilesAreValid) {
  const ProgramRun run = lenslet(
      "profile --device cpu --plan layered --strict --batch-size 16 --min-time-ms 20 --warmup-ms 5 --json "
      "{dir}/out/profile.json "
      "--csv "
      "{dir}/out/profile.csv --trace {dir}/out/trace.json");
  const json document = read_json("{dir}/out/profile.json");
  bool suspect = false;  // a loaded machine may slow the ceilings down and not the layers
  for (const json& row : document.at("results")) suspect = suspect || row.at("status") == "SUSPECT";
  ASSERT_EQ(run.exit_code, suspect ? 1 : 0) << run.err;
  EXPECT_EQ(document.at("status"), "COMPLETE");
  EXPECT_TRUE(document.at("held_back").get<bool>());
  const json& check = document.at("check");
  EXPECT_EQ(check.at("checked"), 160);
  EXPECT_LE(check.at("max_abs").get<double>(), check.at("bound").get<double>());
  EXPECT_EQ(document.at("schema"), "lenslet.results/1");
  expect_environment(document);
  expect_result_rows(document.at("results"));
  EXPECT_GT(document.at("ceilings").at("copy_bytes_per_s").get<double>(), 0);
  EXPECT_GT(document.at("ceilings").at("fp32_flops_per_s").get<double>(), 0);
  double layers = 0;
  std::set<std::string> names;
  for (const json& row : document.at("results")) {
    names.insert(row.at("name").get<std::string>());
    if (row.at("cache") == "hot") layers += row.at("time_ns").at("median").get<double>();
  }
  const json& sums = document.at("sums_ns");
  EXPECT_NEAR(layers, sums.at("layers").get<double>(), 1);
  // The layers, timed one by one, must explain a pass timed as a whole; half of it is for a machine under load.
  const double whole = sums.at("unprofiled");
  EXPECT_GT(layers - sums.at("events").get<double>(), 0.5 * whole);
  EXPECT_LT(layers - sums.at("events").get<double>(), 1.5 * whole);
  for (const char* name : {"conv1", "conv2", "fc1", "unprofiled", "first_call", "build"})
    EXPECT_EQ(names.count(name), 1u);
  const json trace = read_json("{dir}/out/trace.json");
  const json& events = trace.is_array() ? trace : trace.at("traceEvents");
  EXPECT_GT(events.size(), 5u);
  const std::string csv = read_text(expand("{dir}/out/profile.csv"));
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), document.at("results").size() + 1);
}

TEST(Backends, EveryLayerHasOneAutoAndReasonsForTheRest) {
  const ProgramRun run =
      lenslet("backends --device cpu --json {dir}/out/backends.json --csv {dir}/out/backends.csv");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json document = read_json("{dir}/out/backends.json");
  std::map<std::string, int> autos;
  for (const json& row : document.at("rows")) {
    autos[row.at("layer").get<std::string>()] += row.at("auto").get<bool>() ? 1 : 0;
    EXPECT_EQ(row.at("can").get<bool>(), row.at("reason").is_null()) << row.dump();
    EXPECT_TRUE(row.at("backend") != "direct" || row.at("repro") == "bitwise") << row.dump();
    EXPECT_TRUE(row.at("backend") != "direct" || row.at("determinism") == "position") << row.dump();
    EXPECT_EQ(row.at("determinism").is_null(), !row.at("can").get<bool>()) << row.dump();
    EXPECT_TRUE(row.at("determinism") == "bounded" || !row.at("can").get<bool>() ||
                row.at("repro") == "bitwise")
        << row.dump();
  }
  EXPECT_GE(autos.size(), 7u);
  for (const auto& [layer, count] : autos) EXPECT_EQ(count, 1) << layer;
}

TEST(Backends, AnyProblem) {
  const ProgramRun run = lenslet("backends --device cpu --problem mb1ic3ih17oc5kh3sh2ph1 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json rows = json::parse(run.out).at("rows");
  ASSERT_FALSE(rows.empty());
  for (const json& row : rows)
    EXPECT_NE(row.at("problem").get<std::string>().find("mb1ic3ih17"), std::string::npos);
}

TEST(Doctor, EveryBackendOfTheCpuPassesOrSaysWhyNot) {
  const ProgramRun run =
      lenslet("doctor --device cpu --json {dir}/out/doctor.json --csv {dir}/out/doctor.csv");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const json document = read_json("{dir}/out/doctor.json");
  expect_result_rows(document.at("results"));
  for (const json& library : document.at("libs")) {
    EXPECT_FALSE(library.at("version").is_null()) << library.dump();
    EXPECT_TRUE(fs::exists(library.at("path").get<std::string>())) << library.dump();
  }
  int passed = 0;
  std::set<std::string> tested;
  for (const json& row : document.at("results")) {
    EXPECT_NE(row.at("status"), "FAILED") << row.dump();
    if (row.at("status") == "PASSED") {
      ++passed;
      tested.insert(row.at("name").get<std::string>());
      EXPECT_GT(row.at("error").at("checked").get<int>(), 0) << row.dump();
    }
  }
  EXPECT_GE(passed, 10);
  for (const char* name :
       {"cpu conv2d direct", "cpu linear direct", "cpu linear gemm", "cpu max_pool2d direct",
        "cpu avg_pool2d direct", "cpu relu direct", "cpu softmax direct", "cpu gemm blocked"}) {
    EXPECT_EQ(tested.count(name), 1u) << name;
  }
}

}  // namespace
}  // namespace lenslet::test
