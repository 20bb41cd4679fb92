// convbench filter from outside, on the CPU: what comes out of a picture, and what each mistake gets.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "framework/io/image.h"
#include "framework/io/png_writer.h"
#include "tests/support/subprocess.h"

namespace lenslet::test {
namespace {

using Json = nlohmann::json;

class FilterCli : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("filter_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Image image{5, 4, 3, {}, "PNG"};
    for (int i = 0; i < 60; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 37 % 256));
    write("in.png", encode_png(image));
    image_ = image;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  Json json(const std::string& name) const {
    std::ifstream file(path(name));
    return Json::parse(file);
  }
  /// On the CPU, for a moment.
  ProgramRun filter(std::vector<std::string> arguments, const ProgramOptions& options = {}) const {
    arguments.insert(arguments.begin(), {LENSLET_CONVBENCH, "filter"});
    for (const char* more : {"--device", "cpu", "--min-time-ms", "1", "--warmup-ms", "0", "--cache", "hot"}) {
      arguments.push_back(more);
    }
    return run_program(arguments, options);
  }
  std::filesystem::path folder_;
  Image image_;
};

// By hand: -1 around 8, zeros outside, held within a byte.
TEST_F(FilterCli, EdgesAreTheSameFromEveryBackend) {
  const ProgramRun run =
      filter({"--input", path("in.png"), "--output", path("out.png"), "--json", path("r.json")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("every backend must give the same bytes"), std::string::npos) << run.out;
  const Image out = read_image(path("out.png"));
  ASSERT_EQ(out.width, 5);
  ASSERT_EQ(out.height, 4);
  ASSERT_EQ(out.channels, 3);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < 3; ++c) {
        const auto at = [&](int row, int column) {
          return row < 0 || row > 3 || column < 0 || column > 4
                     ? 0
                     : int{image_.pixels[static_cast<size_t>((row * 5 + column) * 3 + c)]};
        };
        int sum = 9 * at(y, x);
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) sum -= at(y + dy, x + dx);
        }
        EXPECT_EQ(int{out.pixels[static_cast<size_t>((y * 5 + x) * 3 + c)]}, std::min(std::max(sum, 0), 255));
      }
    }
  }
  int passed = 0;
  const Json file = json("r.json");
  for (const Json& row : file["results"]) {
    if (row["status"] == "UNSUPPORTED") continue;
    EXPECT_TRUE(row["status"] == "PASSED" || row["status"] == "SUSPECT") << row;
    EXPECT_EQ(row["error"]["max_abs"], 0) << row;
    EXPECT_EQ(row["labels"]["filter"], "edge");
    EXPECT_NE(std::string(row["repro"]).find("convbench filter --input "), std::string::npos);
    ++passed;
  }
  EXPECT_GE(passed, 3);  // direct in both layouts, im2col_gemm
}

TEST_F(FilterCli, StridesAndFilterFiles) {
  write("shift.txt", "0 0 1\n");  // each pixel becomes its right neighbour
  const ProgramRun run =
      filter({"--input", path("in.png"), "--output", path("out.png"), "--filter", path("shift.txt"),
              "--stride", "2", "--layout", "nhwc", "--backend", "direct"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Image out = read_image(path("out.png"));
  ASSERT_EQ(out.width, 3);
  ASSERT_EQ(out.height, 2);
  for (size_t y = 0; y < 2; ++y) {
    for (size_t x = 0; x < 3; ++x) {
      for (size_t c = 0; c < 3; ++c) {
        const int expected = 2 * x + 1 < 5 ? int{image_.pixels[(2 * y * 5 + 2 * x + 1) * 3 + c]} : 0;
        EXPECT_EQ(int{out.pixels[(y * 3 + x) * 3 + c]}, expected);
      }
    }
  }
  write("thirds.txt", "scale 1/3\n0.5 0.25 0.1\n0 0 0\n1 1 -1\n");
  const ProgramRun fractions = filter({"--input", path("in.png"), "--filter", path("thirds.txt")});
  EXPECT_EQ(fractions.exit_code, 0) << fractions.err;
  EXPECT_NE(fractions.out.find("may differ by one"), std::string::npos) << fractions.out;
}

TEST_F(FilterCli, ReadsStandardInput) {
  ProgramOptions options;
  options.standard_input = encode_png(image_);
  const ProgramRun run =
      filter({"--input", "-", "--output", path("out.png"), "--backend", "direct"}, options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::exists(path("out.png")));
}

}  // namespace
}  // namespace lenslet::test
