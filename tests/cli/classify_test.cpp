// What lenslet classify prints and writes.
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/cli/expect_environment.h"
#include "tests/cli/fixtures/files.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST(Classify, ReadsStandardInput) {
  ProgramOptions options;
  options.standard_input = read_text(expand("{dir}/pics/one.pgm"));
  expect_run(lenslet("classify --device=cpu -", options), kOk, ": 1 ");
}

TEST(Classify, FlagsABlankPicture) {
  expect_run(run_line("{classify} {dir}/pics/blank.pgm --json {dir}/out/blank.json"), kOk, "blank");
  expect_members(read_json("{dir}/out/blank.json").at("results").at(0),
                 {{"blank", true}, {"digit", nullptr}});
}

// The bytes of the shipped weights, whose metadata say that everything, or nothing, is a digit.
std::string weights_with_threshold(const std::string& threshold) {
  const std::string shipped = read_text(expand("{source}/weights/lenet5.safetensors"));
  uint64_t length = 0;
  std::memcpy(&length, shipped.data(), sizeof length);  // tests run on little-endian machines
  json header = parse_json(shipped.substr(sizeof length, length));
  header["__metadata__"]["energy_threshold"] = threshold;
  const std::string text = header.dump();
  length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text + shipped.substr(shipped.size() - 44426 * sizeof(float));
  return write_file("{dir}/out/threshold.safetensors", bytes);
}

TEST(Classify, RefusesWhatTheWeightsCallNoDigit) {
  const std::string line = "{classify} {dir}/pics/one.pgm {dir}/pics/blank.pgm --json {dir}/out/refused.json";
  const std::string refusing = " --weights " + weights_with_threshold("500");
  expect_run(run_line(line + refusing), kOk, "one.pgm: no digit: 1 is the nearest, |blank.pgm: blank");
  const json document = read_json("{dir}/out/refused.json");
  expect_members(document, {{"failures", 0}});
  const json& row = document.at("results").at(0);
  expect_members(row, {{"digit", nullptr}, {"probability", nullptr}, {"error", nullptr}, {"blank", false}});
  EXPECT_EQ(row.at("top").at(0).at("digit"), 1);
  const double energy = row.at("energy").get<double>();
  EXPECT_LT(energy, 500);
  const std::string reason = row.at("reason").get<std::string>();
  EXPECT_EQ(reason.rfind("no digit: 1 is the nearest, ", 0), 0u) << reason;
  const size_t told = reason.find(" %, but its energy ");
  ASSERT_NE(told, std::string::npos) << reason;
  EXPECT_NEAR(std::stod(reason.substr(told + 19)), energy, 0.005) << reason;
  EXPECT_EQ(reason.substr(reason.size() - 20), " is not above 500.00") << reason;
  expect_members(document.at("results").at(1), {{"energy", nullptr}});  // blank: not computed

  const std::string accepting = " --weights " + weights_with_threshold("-500");
  const ProgramRun run = expect_run(run_line(line + accepting), kOk, "one.pgm: 1 ");
  EXPECT_EQ(run.out.find("no digit"), std::string::npos) << run.out;
}

TEST(Classify, FailsIfAnOutputForOneOfSeveralMarksIsNotFinite) {
  std::string weights = read_text(weights_with_threshold("-500"));
  const float huge = 3e38f;
  for (size_t at = weights.size() - 44426 * sizeof huge; at < weights.size(); at += sizeof huge)
    std::memcpy(&weights[at], &huge, sizeof huge);
  write_file("{dir}/out/huge.safetensors", weights);
  std::string picture = "P5 140 80 255\n" + std::string(140 * 80, '\xff');
  for (size_t y = 15; y < 65; ++y) {
    for (const size_t x : {40, 70}) picture.replace(picture.size() - 140 * (80 - y) + x, 6, 6, '\0');
  }
  write_file("{dir}/out/eleven.pgm", picture);
  expect_run(run_line("{classify} {dir}/out/eleven.pgm --weights {dir}/out/huge.safetensors"), kCheckFailed,
             "eleven.pgm: no number: mark 1 of 2 is ");
}

TEST(Classify, AFolderIsReadInOrderOfNames) {
  const ProgramRun run = expect_run(run_line("{classify} {dir}/pics"), kOk);
  EXPECT_LT(run.out.find("blank.pgm"), run.out.find("one.pgm"));
  EXPECT_LT(run.out.find("one.pgm"), run.out.find("with space.pgm"));
}

TEST(Classify, AFolderOfBitmapsIsNotEmpty) {
  expect_run(run_line("{classify} {dir}/bits"), kOk, "black.pbm: ");
}

// A phone writes HEIC. Leaving such files out of a folder's answers would pass unnoticed.
TEST(Classify, AFolderNamesThePicturesOfOtherFormats) {
  std::filesystem::create_directories(expand("{dir}/out/phone"));
  std::filesystem::copy_file(expand("{dir}/pics/one.pgm"), expand("{dir}/out/phone/one.pgm"),
                             std::filesystem::copy_options::overwrite_existing);
  const std::string photo = read_text(expand("{dir}/bad/photo.heic"));
  for (const char* name : {"a.HEIC", "b.heif"}) write_file(std::string("{dir}/out/phone/") + name, photo);
  write_file("{dir}/out/phone/c.webp", read_text(expand("{dir}/bad/picture.webp")));
  write_file("{dir}/out/phone/d.gif", read_text(expand("{dir}/bad/picture.gif")));
  write_file("{dir}/out/phone/notes.txt", "no picture by its name");
  const ProgramRun run =
      expect_run(run_line("{classify} {dir}/out/phone"), kData, "one.pgm: 1 ",
                 "a.HEIC: expected a PNG, JPEG, BMP or PNM picture|found a HEIC file; convert it|b.heif: |"
                 "c.webp: |found a WebP file; convert it|d.gif: |found a GIF file");
  EXPECT_EQ(count_lines(run.err), 4) << run.err;
}

TEST(Classify, ABadFileDoesNotStopTheOthers) {
  expect_run(
      run_line(
          "{classify} {dir}/bad/text.png {dir}/pics/one.pgm {dir}/bad/none.png --json {dir}/out/some.json"),
      kData, "one.pgm: 1 ", "text.png: expected a PNG, JPEG, BMP or PNM picture|none.png: cannot be opened");
  const json document = read_json("{dir}/out/some.json");
  EXPECT_EQ(document.at("failures"), 2);
  ASSERT_EQ(document.at("results").size(), 3u);
  EXPECT_TRUE(document.at("results")[0].contains("error"));
  EXPECT_EQ(document.at("results")[1].at("digit"), 1);
}

TEST(Classify, OddNamesKeepJsonAndCsvValid) {
  expect_run(run_line("{classify} --json {dir}/out/odd.json --csv {dir}/out/odd.csv {dir}/odd"), kOk);
  EXPECT_EQ(read_json("{dir}/out/odd.json").at("results").size(), 3u);
  EXPECT_EQ(count_lines(read_text(expand("{dir}/out/odd.csv"))), 4);
}

TEST(Classify, ANameThatLooksLikeAFlagFollowsTwoDashes) {
  ProgramOptions options;
  options.folder = fixture_folder() + "/odd";
  expect_run(run_line("{classify} -- -dash.pgm", options), kOk, "-dash.pgm: 1");
}

TEST(Classify, IdxFilesByLimitAndIndex) {
  const std::string line = "{classify} {dir}/gz/t10k-images-idx3-ubyte.gz";
  EXPECT_EQ(count_lines(expect_run(run_line(line), kOk).out), 20);
  EXPECT_EQ(count_lines(expect_run(run_line(line + " --limit 3"), kOk).out), 3);
  EXPECT_EQ(count_lines(expect_run(run_line(line + " --index 7"), kOk, "[7]: 1").out), 1);
}

TEST(Classify, ExplainShowsThePictureAndEachStep) {
  const ProgramRun run =
      expect_run(run_line("{classify} --explain {dir}/pics/one.pgm"), kOk, "the model's input");
  EXPECT_GT(count_lines(run.out), 50);
}

TEST(Classify, JsonOnStandardOutputSendsTextToStandardError) {
  const ProgramRun run =
      expect_run(run_line("{classify} --json - {dir}/pics/one.pgm"), kOk, "", "one.pgm: 1");
  const json document = parse_json(run.out);
  EXPECT_EQ(document.at("schema"), "lenslet.classify/1");
  expect_environment(document);
  const json& row = document.at("results").at(0);
  EXPECT_EQ(row.at("digit"), 1);
  EXPECT_EQ(row.at("top").size(), 3u);
}

// Events of a watched file, one letter each: o opened, c closed.
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

// A picture, small or large, a picture in a folder, and an IDX file: alone and together.
TEST(Classify, OpensEachFileOnce) {
  if (const int probe = ::inotify_init1(IN_NONBLOCK); probe >= 0) {
    ::close(probe);
  } else {
    GTEST_SKIP() << "files cannot be watched here (inotify_init1)";
  }
  for (const char* name :
       {"pics/one.pgm", "large/bars.ppm", "large/bars.png", "data/t10k-images-idx3-ubyte"}) {
    const std::string file = expand(std::string("{dir}/") + name);
    for (const std::string& arguments : {file, file + " {dir}/odd", fs::path(file).parent_path().string()}) {
      if (arguments != file && name[0] == 'd') continue;  // a folder's inputs are pictures only
      const Watch watch(file);
      expect_run(run_line("{classify} " + arguments), kOk);
      EXPECT_EQ(watch.openings(), 1) << arguments;
    }
  }
}

// The peak memory of classify for `count` copies of the same file.
long memory_of(const std::string& file, int count, const std::string& threads) {
  std::string line = "{classify} --csv {dir}/out/many.csv --threads " + threads;
  for (int i = 0; i < count; ++i) line += " {dir}/" + file;
  return expect_run(run_line(line), kOk).max_rss_kib;
}

TEST(Classify, ThousandsOfFilesTakeNoMoreMemoryThanAFew) {
  if (kAddressSanitizer) GTEST_SKIP() << "the address sanitizer keeps freed memory";
  constexpr long kMoreKib = 8 * 1024;
  EXPECT_LT(memory_of("pics/one.pgm", 3000, "2"), memory_of("pics/one.pgm", 100, "2") + kMoreKib);
}

TEST(Classify, LargePicturesAreDecodedOneAfterAnother) {
  if (kAddressSanitizer) GTEST_SKIP() << "the address sanitizer keeps freed memory";
  constexpr long kMoreKib = 12 * 1024;  // less than a second picture in memory would need
  // By file size, and by the size that the header of a truncated file states.
  for (const char* file : {"large/bars.ppm", "large/bars.png"})
    EXPECT_LT(memory_of(file, 8, "8"), memory_of(file, 1, "8") + kMoreKib) << file;
}

TEST(Classify, Samples) {
  const std::string folder = expand("{source}/samples");
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no samples/ in this source tree";
  const ProgramRun run = expect_run(run_line("{classify} --json - {source}/samples"), kOk);
  int right = 0, all = 0;
  const json results = parse_json(run.out).at("results");
  for (const json& row : results) {
    const std::string name = fs::path(row.at("file").get<std::string>()).filename().string();
    if (name.rfind("digit_", 0) != 0) continue;
    ++all;
    right += row.at("digit") == name[6] - '0' ? 1 : 0;
  }
  EXPECT_GE(all, 20);
  EXPECT_GE(right, all - 2) << run.err;
}

}  // namespace
}  // namespace lenslet::test
