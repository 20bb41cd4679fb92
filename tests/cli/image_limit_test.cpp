// lenslet classify --max-image-pixels: how large a picture may be, said before memory is taken for it.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

constexpr int kOk = 0, kUsage = 2, kData = 3;

ProgramRun classify(const std::string& picture, const std::string& most,
                    const std::string& standard_input = "") {
  ProgramOptions options;
  options.standard_input = standard_input;
  return lenslet("classify --device cpu " + picture + (most.empty() ? "" : " --max-image-pixels " + most),
                 options);
}

TEST(MaxImagePixels, IsHowLargeAPictureMayBe) {
  const std::string digit = "{source}/samples/digit_3_a.png";  // 40x40
  EXPECT_EQ(classify(digit, "1600").exit_code, kOk);
  const ProgramRun refused = classify(digit, "1599");
  EXPECT_EQ(refused.exit_code, kData);
  EXPECT_NE(refused.err.find("digit_3_a.png: the picture is 40x40 pixels, more than the 1599 that are read"),
            std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("--max-image-pixels"), std::string::npos) << "the way out: " << refused.err;
  EXPECT_EQ(refused.out, "");
}

TEST(MaxImagePixels, WantsAWholeNumberInItsRange) {
  for (const char* most : {"0", "-1", "1e6", "64M", "268435457", "99999999999999999999", "x"}) {
    const ProgramRun run = classify("-", most, "P2 1 1 1 0");
    EXPECT_EQ(run.exit_code, kUsage) << most;
    EXPECT_NE(run.err.find("--max-image-pixels expects a whole number from 1 to 268435456"),
              std::string::npos)
        << run.err;
  }
}

// A default is there without being asked for, and a header that promises more costs neither time nor memory.
TEST(MaxImagePixels, BoundsAPictureThatOnlyPromisesToBeLarge) {
  for (const char* most : {"", "268435456"}) {
    const ProgramRun run = classify("-", most, "P5 400000 400000 255\n");
    EXPECT_EQ(run.exit_code, kData) << run.err;
    EXPECT_NE(run.err.find("400000x400000 pixels, more than the"), std::string::npos) << run.err;
    EXPECT_LT(run.max_rss_kib, 500 << 10);
  }
  // The most that may be allowed is not taken before the data are there.
  const ProgramRun cut = classify("-", "268435456", "P5 16384 16384 255\n1234");
  EXPECT_EQ(cut.exit_code, kData) << cut.err;
  EXPECT_NE(cut.err.find("4 of 268435456 bytes"), std::string::npos) << cut.err;
  EXPECT_LT(cut.max_rss_kib, 500 << 10);
}

}  // namespace
}  // namespace lenslet::test
