// The values of options: what each kind reads, shows and refuses.
#include "apps/common/command_line/option_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {
namespace {

// What the kind parses, prints and accepts; it must reject all of `refused`.
template <typename Kind>
void expect_reads(const Kind& kind, const std::string& text, const typename Kind::Value& value,
                  const std::string& shown, const std::vector<std::string>& refused) {
  const typename Kind::Value parsed = kind.parse("--x", text);
  EXPECT_EQ(parsed, value) << text;
  EXPECT_TRUE(kind.holds(parsed)) << text;
  EXPECT_EQ(kind.show(parsed), shown);
  EXPECT_EQ(kind.parse("--x", shown), parsed) << shown;
  for (const std::string& bad : refused) EXPECT_THROW(kind.parse("--x", bad), UsageError) << bad;
}

TEST(OptionValues, Integers) {
  expect_reads(Integer{1, 100}, "42", 42, "42",
               {"", " 1", "1 ", "+1", "1e2", "0x1", "1.0", "1,0", "one", "0", "101", "9223372036854775808"});
  expect_reads(Integer{-5, 5}, "-3", -3, "-3", {"-6", "6"});
  EXPECT_FALSE((Integer{1, 100}.holds(0)) || (Integer{1, 100}.holds(101)));
}

TEST(OptionValues, Numbers) {
  expect_reads(Number{0, 1}, "0.250", 0.25, "0.25",
               {"", "nan", "inf", "1e-3", "0,5", "1.01", "-0.1", "0.5x"});
  expect_reads(milliseconds(), "3600000", 3.6e6, "3600000", {"3600001"});
  double unset = NAN;
  const Number positive{0, 1};
  const MemberValue<Number, double> member(positive, unset);
  EXPECT_TRUE(member.show().empty() && member.legal());
  unset = 2;
  EXPECT_FALSE(member.legal());
}

TEST(OptionValues, Sizes) {
  const Sizes sizes(65536);
  expect_reads(sizes, "256:4096:x2", {256, 512, 1024, 2048, 4096}, "256,512,1024,2048,4096",
               {"", "0", "1:2", "1:2:2", "1:2:x1", "2:1:x2", "1:65537:x2", "1:2:x", "1,,2"});
  expect_reads(sizes, "10:999:x10", {10, 100}, "10,100", {});
  expect_reads(sizes, "7:7:x3", {7}, "7", {});
  expect_reads(sizes, "5,3", {5, 3}, "5,3", {});
}

TEST(OptionValues, Bytes) {
  expect_reads(ByteCount{}, "1", 1u, "1",
               {"", "0", "0K", "-1", "M", "64m", "64MB", "1.5G", "16777216T", "18446744073709551616"});
  expect_reads(ByteCount{}, "64M", size_t{64} << 20, "67108864", {});
  expect_reads(ByteCount{}, "3G", size_t{3} << 30, "3221225472", {});
  EXPECT_EQ(ByteCount{}.parse("--b", "16777215T"), size_t{16777215} << 40);
}

TEST(OptionValues, WordsAndLists) {
  const auto maths = words({MathMode::kFp32, MathMode::kTf32}, to_string);
  expect_reads(maths, "tf32", MathMode::kTf32, "tf32", {"", "fp64", "TF32", "tf32,fp32"});
  EXPECT_FALSE(maths.holds(MathMode::kFp16));
  expect_reads(List{maths}, "tf32,fp32", {MathMode::kTf32, MathMode::kFp32}, "tf32,fp32",
               {"", ",", "fp32,", "fp32,fp64", "none"});
  expect_reads(List{maths, "none"}, "none", {}, "none", {"", "fp32,none"});
  std::string thousand = "1";
  for (int i = 1; i < 1000; ++i) thousand += ",1";
  EXPECT_EQ(List{Integer{}}.parse("--x", thousand).size(), 1000u);
  EXPECT_THROW(List{Integer{}}.parse("--x", thousand + ",1"), UsageError);
  expect_reads(Text{"FILE", nullptr, {".png", ".pgm"}}, "a.pgm", "a.pgm", "a.pgm", {"", "a.jpg", "png"});
}

}  // namespace
}  // namespace lenslet
