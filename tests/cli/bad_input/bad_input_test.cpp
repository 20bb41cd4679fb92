// Bad input of every kind gets its exit code and one line on stderr, and leaves no file behind.
#include <fcntl.h>
#include <gtest/gtest-spi.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "framework/device/device.h"
#include "framework/measuring/cpu_caches.h"
#include "tests/cli/bad_input/bad_input.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

constexpr size_t kMaxLine = 3000;  // bytes: 5,000 letters of an argument are not repeated
// Limits of memory and time for refusing a file or a command line. The variable declares that the programs under test
// are sanitized although the tests are not. On two cores with ten other programs the slowest refusals take 0.1 s of
// processor time.
constexpr long kMaxKib = 100 * 1024;
constexpr double kMaxCpuSeconds = 0.5;

bool limits_apply() { return !kSanitized && std::getenv("LENSLET_TEST_SANITIZED") == nullptr; }

ProgramOptions options_of(const BadInput& bad) {
  ProgramOptions options;
  std::istringstream words(bad.circumstances);
  for (std::string word; words >> word;) {
    if (const size_t equals = word.find('='); equals != std::string::npos) {
      options.environment[word.substr(0, equals)] = expand(word.substr(equals + 1));
    } else if (word == "stdin:closed") {
      options.inherit_nothing_on_stdin = true;
    } else if (word == "stdin:terminal") {
      options.terminal_on_stdin = true;
    } else if (word == "stdout:full") {
      options.output = ProgramOptions::Output::kFull;
    } else if (word == "stdout:closed") {
      options.output = ProgramOptions::Output::kClosed;
    } else if (word == "rights:none") {
      options.drop_file_rights = true;
    } else {
      ADD_FAILURE() << "the table says '" << word << "', which is no circumstance";
    }
  }
  return options;
}

bool has_terminals() {
  const int probe = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (probe >= 0) ::close(probe);
  return probe >= 0;
}

void expect_nothing_temporary() {
  for (const char* folder : {"", "/out", "/full", "/locked"}) {
    for (const auto& entry : std::filesystem::directory_iterator(fixture_folder() + folder)) {
      const std::string name = entry.path().filename().string();
      EXPECT_NE(name.rfind(".lenslet-", 0), 0u) << entry.path();
      EXPECT_EQ(name.find(".lenslet-lock"), std::string::npos) << entry.path();
    }
  }
}

// Text for people goes to standard error if a machine-readable file goes to standard output.
bool text_goes_to_stderr(const std::string& command) { return command.find("--json -") != std::string::npos; }

std::string last_line(const std::string& text) {
  const size_t end = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  return end == std::string::npos ? text : text.substr(end + 1);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const BadInput& bad) { return out << bad.command; }

void expect_row(const BadInput& bad) {
  const std::string command = in_full(bad.command), program = command.substr(0, command.find(' '));
  const bool disks =
      command.find("{dir}/full") != std::string::npos || command.find("{dir}/read_only") != std::string::npos;
  if (disks && !mount_disks().empty()) GTEST_SKIP() << mount_disks();
  if (std::string(bad.circumstances).find("stdin:terminal") != std::string::npos && !has_terminals()) {
    GTEST_SKIP() << "no pseudo-terminal can be opened here";
  }
  const ProgramRun run = run_line(command, options_of(bad));
  if (run.exit_code == ProgramRun::kNoRights) GTEST_SKIP() << "root cannot give up its rights here";
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.signal, 0) << run.err;
  EXPECT_EQ(run.exit_code, bad.exit_code) << run.err;
  for (const std::string* stream : {&run.out, &run.err}) {
    EXPECT_EQ(stream->find('\r'), std::string::npos) << *stream;
    EXPECT_EQ(stream->find('\x1b'), std::string::npos) << *stream;
  }
  expect_nothing_temporary();
  EXPECT_TRUE(adds_reason(run.given, expand(bad.fragments)))
      << bad.fragments << kNoReason << run.out << run.err;
  if (bad.exit_code == kOk) {
    EXPECT_TRUE(run.err.empty()) << run.err;
    expect_words(run.out + run.err, expand(bad.fragments));
    return;
  }
  const std::string said = text_goes_to_stderr(command) ? last_line(run.err) : run.err;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << "one line, found: " << said;
  EXPECT_EQ(said.rfind(program + ": error: ", 0), 0u) << said;
  EXPECT_LT(said.size(), kMaxLine);
  expect_words(said, expand(bad.fragments));
  if (limits_apply() && (bad.exit_code == kUsage || bad.exit_code == kData)) {
    EXPECT_LT(run.max_rss_kib, kMaxKib);
    double min_seconds = run.cpu_seconds;  // other processes on the same core lengthen some runs
    for (int i = 0; i < 9 && min_seconds >= kMaxCpuSeconds; ++i)
      min_seconds = std::min(min_seconds, run_line(command, options_of(bad)).cpu_seconds);
    EXPECT_LT(min_seconds, kMaxCpuSeconds);
  }
}

TEST_P(BadInputTest, GetsItsExitCodeAndOneLine) { expect_row(GetParam()); }

constexpr BadInput kRepeats = {"", "lenslet doctor extra", kUsage, "'extra'"};

TEST(BadInput, WordsThatTheCommandHoldsAlreadyAreNoExpectation) {
  EXPECT_NONFATAL_FAILURE(expect_row(kRepeats), kNoReason);
  EXPECT_NONFATAL_FAILURE(expect_run(run_line(kRepeats.command), kUsage, "", "doctor|extra"), kNoReason);
  const ProgramRun run = run_line("{classify} --index=-1 {dir}/pics {dir}/bad/none.png {bytes}",
                                  options_of({"", "", kOk, "", "LENSLET_NUM_THREADS=many"}));
  for (const char* words :
       {"", "none.png", "'none.png': ", "bad/none", "lenslet classify", "--index|'-1'", "--INDEX|of|1",
        "one.pgm", "LENSLET_NUM_THREADS|'many'", "\\xff\\xfe", "cpu|lenslet"})
    EXPECT_FALSE(adds_reason(run.given, words)) << words;
  for (const char* words : {"found '-1'", "--index|a number", "many threads", "two.pgm", "none.png: cannot"})
    EXPECT_TRUE(adds_reason(run.given, words)) << words;
}

// Readable inputs are still processed, and the exit code reports the unreadable ones.
TEST(BadInput, TheRestOfABatchGoesOn) {
  ProgramOptions options;
  options.drop_file_rights = true;
  options.standard_input = "no picture";
  const ProgramRun run = run_line(
      "{classify} --json {dir}/out/batch.json {dir}/mixed {dir}/bad/unreadable.pgm {long} {dir}/none.png - "
      "{dir}/gz_bomb/t10k-images-idx3-ubyte.gz {dir}/nothing {dir}/odd/-dash.pgm",
      options);
  if (run.exit_code == ProgramRun::kNoRights) GTEST_SKIP() << "root cannot give up its rights here";
  expect_run(
      run, kData, "1.pgm: 1|3.pgm: 1|5.pgm: 1|-dash.pgm: 1",
      "2.png: expected a PNG, JPEG, BMP or PNM picture|4.pgm: cannot be opened: Too many levels|"
      "unreadable.pgm: cannot be opened: Permission denied|xxx: cannot be opened: File name too long|"
      "none.png: cannot be opened: No such file|standard input: expected a PNG, JPEG, BMP or PNM picture|"
      "gz_bomb/t10k-images-idx3-ubyte.gz: the gzip data hold more|nothing: no picture in this folder");
  EXPECT_EQ(count_lines(run.out), 4) << run.out;
  EXPECT_EQ(count_lines(run.err), 8) << run.err;
}

TEST(BadInput, ADiskThatFillsUpKeepsTheEarlierFile) {
  if (!mount_disks().empty()) GTEST_SKIP() << mount_disks();
  const std::string file = fixture_folder() + "/full/old.json";
  ASSERT_EQ(std::filesystem::file_size(file), 14u);
  expect_run(run_line("{classify} {dir}/many/t10k-images-idx3-ubyte --json " + file), kOutput);
  EXPECT_EQ(std::filesystem::file_size(file), 14u);
  expect_nothing_temporary();
}

// A file that cannot be written does not cost the measurements: they are printed, and the exit code reports the file.
TEST(BadInput, ADiskThatFillsUpDoesNotEndTheMeasuring) {
  if (!mount_disks().empty()) GTEST_SKIP() << mount_disks();
  const std::string file = fixture_folder() + "/full/old.json";
  const std::string told = "full/old.json:|device;|tries|";  // single words: the line is wrapped
  expect_run(run_line("{measure} --problem ic1ih9oc1kh1 --json " + file), kOutput,
             told + "mb1ic1ih8oc1oh8kh1:|mb1ic1ih9oc1oh9kh1:|PASSED");
  expect_run(
      run_line("lenslet bench --device cpu --data {dir}/data --min-time-ms 1 --warmup-ms 0 --plan layered "
               "--input fp32 --output logits --batch-sizes 1,3 --place device --json " +
               file),
      kOutput, told + "images/s");
  expect_run(run_line("lenslet profile --device cpu {quick} --json " + file), kOutput,
             told + "uninstrumented total");
  EXPECT_EQ(std::filesystem::file_size(file), 14u);
}

// About 150 bytes for each name in a folder, and none for the contents of the files. Ten thousand files, which take a
// second; with LENSLET_TEST_THOROUGH a hundred thousand.
TEST(BadInput, AFolderOfManyFilesTakesLittleMemory) {
  const int files = std::getenv("LENSLET_TEST_THOROUGH") ? 100000 : 10000;
  const std::string folder = fixture_folder() + "/many_files";
  std::filesystem::create_directories(folder);
  for (int i = 0; i < files; ++i) {
    std::filesystem::create_symlink(fixture_folder() + "/pics/one.pgm",
                                    folder + "/" + std::to_string(i) + ".pgm");
  }
  const std::string line = "{classify} --threads 2 --csv {dir}/out/f.csv ";
  const long few = run_line(line + "{dir}/odd").max_rss_kib;
  const ProgramRun run = expect_run(run_line(line + folder), kOk);
  EXPECT_EQ(count_lines(run.out), files);
  constexpr double kKibOfAName = 0.2, kSlackKib = 2048;
  if (limits_apply()) {
    EXPECT_LT(static_cast<double>(run.max_rss_kib - few), kSlackKib + kKibOfAName * files);
  }
}

constexpr double kGib = 1u << 30;

TEST(BadInput, AProblemThatDoesNotFitIsAMemoryErrorBeforeAnythingIsAllocated) {
  // Every tensor just below 2^31 elements, three copies of each: 60 GiB.
  if (static_cast<double>(free_memory_bytes(Device::cpu())) > 60 * kGib)
    GTEST_SKIP() << "this machine has room for the largest problem";
  const ProgramRun run =
      expect_run(run_line("{problem} mb32767ic65535ih1oc32767kh1"), kMemory, "", "are free");
  if (limits_apply()) {
    EXPECT_LT(run.max_rss_kib, kMaxKib);
  }
}

TEST(BadInput, ConvbenchRefusesAProblemThatDoesNotFitBeforeItsTensors) {
  // Every tensor just below 2^31 elements, one of each: 24 GiB.
  if (static_cast<double>(free_memory_bytes(Device::cpu())) > 23 * kGib)
    GTEST_SKIP() << "this machine may have room for the largest problem";
  const ProgramRun run =
      expect_run(run_line("{bench} mb46340ic46340ih1oc46340kh1 --backend direct"), kMemory, "", "are free");
  if (limits_apply()) {
    // The machine's ceilings are measured first, in buffers of some times its caches.
    const CpuCaches l3 = cpu_caches(3);
    EXPECT_LT(static_cast<double>(run.max_rss_kib) * 1024,
              kGib + 4.0 * static_cast<double>(l3.bytes) * l3.count);
  }
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

// A model whose file ends with 300 MB of raw values, all zero but for the last one; the zeros take no space on the
// disk.
std::string model_of_many_weights(const std::string& name, float last) {
  constexpr uint64_t kWeights = 75000000, kBytes = kWeights * sizeof(float);
  const std::string tensor =
      onnx::tensor("large", onnx::kFloat, {static_cast<int64_t>(kWeights)}).bytes() + "\x4a" + varint(kBytes);
  const onnx::GraphParts parts = onnx::small_graph();
  onnx::Message small;
  for (const onnx::Message& node : parts.nodes) small.message(1, node);
  small.message(5, parts.initializers[0]).message(11, parts.inputs[0]).message(12, parts.outputs[0]);
  const std::string graph = small.bytes() + "\x2a" + varint(tensor.size() + kBytes) + tensor;
  const std::string file = onnx::Message().integer(1, 8).message(8, onnx::Message().integer(2, 13)).bytes() +
                           "\x3a" + varint(graph.size() + kBytes) + graph;
  const std::string path = write_file("{dir}/out/" + name, file);
  std::filesystem::resize_file(path, file.size() + kBytes - sizeof last);
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(&last), sizeof last);
  return path;
}

TEST(BadInput, TheWeightsOfAModelAreReadPieceByPiece) {
  std::string path = model_of_many_weights("large.onnx", 1);
  const ProgramRun good = expect_run(run_line("lenslet inspect " + path), kOk, "Lenslet runs this model");
  path = model_of_many_weights("large_nan.onnx", NAN);
  const ProgramRun bad = expect_run(run_line("lenslet inspect " + path), kData, "",
                                    "\"large\"|1 of its 75000000 values are NaN");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const ProgramRun cut = expect_run(run_line("lenslet inspect " + path), kData, "", "cut or damaged");
  if (limits_apply()) {
    for (const ProgramRun* run : {&good, &bad, &cut}) EXPECT_LT(run->max_rss_kib, kMaxKib);
    EXPECT_LT(bad.cpu_seconds, 2);
    EXPECT_LT(cut.cpu_seconds, bad.cpu_seconds / 2)
        << "refused by the size of the file, before the values are read";
  }
}

TEST(BadInput, CudaWithoutGpuIsRefusedWithTheReason) {
  if (cuda_status().usable) GTEST_SKIP() << "this machine has a usable GPU";
  if (std::getenv("LENSLET_TEST_PREFIX"))
    GTEST_SKIP() << "the programs may be of another kind than this build";
  for (const char* line : {"lenslet eval --data {dir}/data --device cuda", "convbench ladder",
                           "convbench reproduce b", "convbench run --problem ic1ih8oc1kh1 --device cuda"})
    expect_run(run_line(line), kUnavailable, "", cuda_status().reason);
}

}  // namespace lenslet::test
