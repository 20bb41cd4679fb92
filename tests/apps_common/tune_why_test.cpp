// Why a candidate is faster than the next: what speaks for it, and what against it.
#include "apps/lenslet/tune/tune_why.h"

#include <gtest/gtest.h>

namespace lenslet {
namespace {

// 100 GFLOP/s and 10 GB/s: 1 MFLOP takes 10 us, 1 MB takes 100 us.
Ceilings ceilings() {
  Ceilings limits;
  limits.copy_bytes_per_s = limits.read_bytes_per_s = 10e9;
  limits.peaks = {{MathMode::kFp32, "FMA", 100e9}};
  return limits;
}

Effort effort(double mflop, double mbytes, double products_saved = 1) {
  Effort work;
  work.add({mflop * 1e6, mbytes * 1e6}, products_saved, MathMode::kFp32, ceilings());
  return work;
}

TimeStats took(double us) { return {20, us * 1e3, us * 1e3, us * 1e3, us * 1e3, us * 1e3}; }

TEST(TuneWhy, FewerBytes) {
  EXPECT_EQ(why_chosen({"a", took(200), effort(1, 1)}, {"b", took(400), effort(1, 2)}),
            "a: 200 us, 2.00 times as fast as b (400 us), because it moves 977 KiB instead of 1.91 MiB");
}

TEST(TuneWhy, NearerToItsCeiling) {
  EXPECT_EQ(
      why_chosen({"a", took(20), effort(1, 0.01)}, {"b", took(50), effort(1, 0.01)}),
      "a: 20.0 us, 2.50 times as fast as b (50.0 us), because it reaches 50 % of fp32 peak instead of 20 %");
}

TEST(TuneWhy, FewerProductsAlthoughAtASmallerShare) {
  EXPECT_EQ(
      why_chosen({"a", took(50), effort(4, 0.01, 2)}, {"b", took(60), effort(4, 0.01)}),
      "a: 50.0 us, 1.20 times as fast as b (60.0 us), because it computes 2.00 MFLOP instead of 4.00 MFLOP, "
      "although it reaches 40 % of fp32 peak instead of 67 %");
}

TEST(TuneWhy, OtherCeilingsAreBothNamed) {
  const std::string text = why_chosen({"a", took(20), effort(1, 0.01)}, {"b", took(1000), effort(1, 1)});
  EXPECT_NE(text.find("reaches 50 % of fp32 peak instead of 10 % of memory"), std::string::npos) << text;
}

TEST(TuneWhy, ATieIsNoVictory) {
  EXPECT_EQ(why_chosen({"a", took(20), effort(1, 0.01)}, {"b", took(20), effort(1, 0.01)}),
            "a: 20.0 us, as fast as b (20.0 us); it reaches 50 % of fp32 peak");
  const std::string slower = why_chosen({"a", took(22), effort(1, 0.01)}, {"b", took(20), effort(1, 0.01)});
  EXPECT_NE(slower.find("first in rank and within the spread as fast as b"), std::string::npos) << slower;
}

TEST(TuneWhy, WithoutCeilingsOnlyTimesAndWork) {
  Effort unknown;
  unknown.add({1e6, 1e4}, 1, MathMode::kFp32, {});
  EXPECT_EQ(why_chosen({"a", took(20), unknown}, {"b", took(40), unknown}),
            "a: 20.0 us, 2.00 times as fast as b (40.0 us)");
}

TEST(TuneWhy, OperatorsAddUp) {
  Effort both = effort(1, 0.01);
  both.add(effort(4, 10, 2));
  EXPECT_DOUBLE_EQ(both.flops, 5e6);
  EXPECT_DOUBLE_EQ(both.products_saved(), 5.0 / 3);
  EXPECT_DOUBLE_EQ(both.best_ns, 10e3 + 1e6);
  EXPECT_EQ(both.bound_by, "memory");
  EXPECT_NEAR(both.share(took(2020)), 0.5, 1e-9);
}

}  // namespace
}  // namespace lenslet
