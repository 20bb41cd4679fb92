// The machine's ceilings: which one binds, and the loops that measure those of the CPU.
#include "apps/common/ceilings/ceilings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "apps/common/ceilings/peak_rates.h"
#include "apps/common/results/result_file.h"
#include "framework/base/parallel.h"
#include "framework/measuring/cpu_caches.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {
namespace {

TEST(Ceilings, TheOneThatTakesLongestBinds) {
  Ceilings ceilings;
  ceilings.copy_bytes_per_s = 1e9;
  ceilings.caches = {{"L2", 1000, 10e9}};
  ceilings.fp32_flops_per_s = 1e9;
  EXPECT_EQ(binding_ceiling(ceilings, {10, 100}, MathMode::kFp32, false).by, "memory");
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {10, 100}, MathMode::kFp32, false).best_ns, 100);
  EXPECT_EQ(binding_ceiling(ceilings, {0, 100}, MathMode::kFp32, true).by, "L2");
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {0, 100}, MathMode::kFp32, true).best_ns, 10);
  EXPECT_EQ(binding_ceiling(ceilings, {0, 3000}, MathMode::kFp32, true).by, "memory");
  EXPECT_EQ(binding_ceiling(ceilings, {0, 3000, 100}, MathMode::kFp32, true).by, "L2") << "of 100 at a time";
  EXPECT_EQ(binding_ceiling(ceilings, {0, 3000, 100}, MathMode::kFp32, false).by, "memory");
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp32, true).by, "fp32 gemm");
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kTf32, true).by, "L2");  // tf32 was not measured
  ceilings.fp16_flops_per_s = 2e9;
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp16, true).by, "fp16 gemm");
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp16, true).best_ns, 500);
  ceilings.device = Device::cuda();
  EXPECT_NE(describe(ceilings).find("fp16 2.00 GFLOP/s"), std::string::npos) << describe(ceilings);
  // Reads set the limit if they are faster than copies.
  ceilings.read_bytes_per_s = 2e9;
  ceilings.caches[0].read_bytes_per_s = 20e9;
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {10, 100}, MathMode::kFp32, false).best_ns, 50);
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {0, 100}, MathMode::kFp32, true).best_ns, 5);
  ceilings.replayed_launch_ns = 2000;
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp32, true).by, "launch");
}

// A library's rate is no limit: the fastest instruction of the math mode is. The library's rate replaces it only if it
// is higher than all measured instructions.
TEST(Ceilings, ThePeakIsTheLimitAndTheLibraryStandsBesideIt) {
  Ceilings ceilings;
  ceilings.fp32_flops_per_s = 51e12;
  ceilings.tf32_flops_per_s = 390e12;
  ceilings.peaks = {{MathMode::kFp32, "FFMA", 65.8e12},
                    {MathMode::kTf32, "mma.sync", 300e12},
                    {MathMode::kTf32, "wgmma", 480e12},
                    {MathMode::kFp32, "other", 10e12}};
  EXPECT_EQ(arithmetic_limit(ceilings, MathMode::kFp32).by, "fp32 peak");
  EXPECT_DOUBLE_EQ(arithmetic_limit(ceilings, MathMode::kFp32).flops_per_s, 65.8e12);
  EXPECT_DOUBLE_EQ(arithmetic_limit(ceilings, MathMode::kTf32).flops_per_s, 480e12);
  EXPECT_TRUE(std::isnan(arithmetic_limit(ceilings, MathMode::kFp16).flops_per_s));
  ceilings.tf32_flops_per_s = 490e12;
  EXPECT_EQ(arithmetic_limit(ceilings, MathMode::kTf32).by, "tf32 gemm");
  EXPECT_DOUBLE_EQ(arithmetic_limit(ceilings, MathMode::kTf32).flops_per_s, 490e12);
  // 60 of 65.8: within the limit, although above the library's rate.
  ResultRow row;
  row.cache = "hot";
  row.time.median = 1e6;
  apply_ceiling(row, ceilings, {60e9, 0}, MathMode::kFp32);
  EXPECT_EQ(row.status, row_status::kPassed);
  EXPECT_EQ(row.bound_by, "fp32 peak");
  EXPECT_NEAR(row.ceiling_fraction, 60 / 65.8, 1e-9);
  apply_ceiling(row, ceilings, {80e9, 0}, MathMode::kFp32);
  EXPECT_EQ(row.status, row_status::kSuspect);
  row.status = row_status::kPassed;
  row.products_saved = 2.25;  // the same rate, effective
  apply_ceiling(row, ceilings, {80e9, 0}, MathMode::kFp32);
  EXPECT_EQ(row.status, row_status::kPassed);
}

TEST(Ceilings, OfTheCpuAreMeasured) {
  const Ceilings ceilings = measure_ceilings(Device::cpu());
  ASSERT_EQ(ceilings.peaks.size(), fma_loops().size());
  EXPECT_EQ(ceilings.caches.size(), 3u);
  if (const CpuCaches l3 = cpu_caches(3); l3.count > 0) {
    EXPECT_LE(ceilings.caches.back().capacity_bytes, static_cast<double>(l3.bytes) * l3.count)
        << "the package's, not these cores'";
  }
  for (const CacheCeiling& cache : ceilings.caches) {
    EXPECT_GT(cache.copy_bytes_per_s, 1e8) << cache.name;
    EXPECT_GT(cache.read_bytes_per_s, 1e8) << cache.name;
    // 10 GHz with one load of 128 bytes per cycle: no thread reads faster.
    EXPECT_LT(cache.read_bytes_per_s, 1280e9 * num_threads()) << cache.name;
  }
  for (const PeakRate& peak : ceilings.peaks) {
    EXPECT_EQ(peak.math, MathMode::kFp32);
    EXPECT_GT(peak.flops_per_s, 1e8) << peak.instruction;
    // 10 GHz with two units of 16 lanes: no core is faster.
    EXPECT_LT(peak.flops_per_s, 640e9 * num_threads()) << peak.instruction;
  }
  EXPECT_GT(ceilings.read_bytes_per_s, 1e8);
  EXPECT_GT(ceilings.copy_bytes_per_s, 1e8);
  EXPECT_GT(ceilings.fp32_flops_per_s, 1e7);
  EXPECT_FALSE(ceilings.gemm_library.empty());
  EXPECT_TRUE(std::isnan(ceilings.launch_ns));
}

TEST(PeakRates, EveryWordIsRead) {
  alignas(64) uint32_t words[1024];
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 1024; ++i) sum += words[i] = i * i;
  EXPECT_EQ(read_words(words, 1024), sum);
}

// Each round multiplies and adds once: the sums tend to addend / (1 - factor).
TEST(PeakRates, EveryRoundMultipliesAndAdds) {
  for (const FmaLoop& loop : fma_loops()) {
    const double sums = loop.flops_per_round / 2;
    EXPECT_NEAR(loop.run(0, 0.5f, 1.0f), loop.run(1, 1.0f, 0.0f), 1e-3) << loop.instruction;
    EXPECT_NEAR(loop.run(60, 0.5f, 1.0f), 2 * sums, 1e-3 * sums) << loop.instruction;
    EXPECT_NEAR(loop.run(1, 0.0f, 3.0f), 3 * sums, 1e-3 * sums) << loop.instruction;
  }
}

}  // namespace
}  // namespace lenslet
