// convbench filter from outside, on the CPU: its output pictures, and the message for each mistake.
#include <filesystem>

#include "framework/io/picture.h"
#include "framework/io/png_writer.h"
#include "tests/support/programs.h"

namespace lenslet::test {
namespace {

using Json = nlohmann::json;

class FilterCli : public ProgramTest {
 protected:
  FilterCli() {
    for (int i = 0; i < 60; ++i) image_.pixels.push_back(static_cast<uint8_t>(i * 37 % 256));
    write("in.png", encode_png(image_));
  }
  /// On the CPU, for a short time.
  ProgramRun filter(const std::string& arguments, const ProgramOptions& options = {}) const {
    return run("convbench filter --device cpu --min-time-ms 1 --warmup-ms 0 --cache hot " + arguments,
               options);
  }
  Picture image_{5, 4, 3, {}, "PNG"};
};

// By hand: -1 around 8, zeros outside, limited to a byte.
TEST_F(FilterCli, EdgesAreTheSameFromEveryBackend) {
  expect_run(filter("--input in.png --output out.png --json r.json"), kOk,
             "every backend must give the same bytes");
  const Picture out = read_picture(path("out.png"));
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
    // Sums of whole numbers are exact; the transforms of Winograd have fractions.
    if (row["products_saved"] > 1) {
      EXPECT_LT(row["error"]["max_abs"], 0.5) << row;
    } else {
      EXPECT_EQ(row["error"]["max_abs"], 0) << row;
    }
    EXPECT_EQ(row["labels"]["filter"], "edge");
    expect_words(row["repro"], "convbench filter --input ");
    ++passed;
  }
  EXPECT_GE(passed, 3);  // direct in both layouts, im2col_gemm
}

TEST_F(FilterCli, StridesAndFilterFiles) {
  write("shift.txt", "0 0 1\n");  // each pixel becomes its right neighbour
  expect_run(
      filter("--input in.png --output out.png --filter shift.txt --stride 2 --layout nhwc --backend direct"),
      kOk);
  const Picture out = read_picture(path("out.png"));
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
  expect_run(filter("--input in.png --filter thirds.txt"), kOk, "may differ by one");
}

TEST_F(FilterCli, ReadsStandardInput) {
  ProgramOptions options;
  options.standard_input = encode_png(image_);
  expect_run(filter("--input - --output out.png --backend direct", options), kOk);
  EXPECT_TRUE(std::filesystem::exists(path("out.png")));
}

}  // namespace
}  // namespace lenslet::test
