// Ceilings of a GPU: they are plausible, and ordered like its units.
#include <gtest/gtest.h>

#include <cmath>

#include "apps/common/ceilings/ceilings.h"
#include "apps/common/system/conditions.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

double peak_of(const Ceilings& ceilings, MathMode math, const std::string& instruction) {
  for (const PeakRate& peak : ceilings.peaks) {
    if (peak.math == math && peak.instruction == instruction) return peak.flops_per_s;
  }
  return NAN;
}

TEST(CeilingsGpu, NoLibraryIsFasterThanTheUnitsAre) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Ceilings ceilings = measure_ceilings(Device::cuda(0));
  const CudaDeviceInfo& gpu = cuda_status().devices.at(0);
  const double ffma = peak_of(ceilings, MathMode::kFp32, "FFMA");
  // 128 lanes per multiprocessor, two operations each, no clock above 3 GHz.
  EXPECT_LT(ffma, 2 * 128.0 * gpu.multiprocessors * 3e9);
  EXPECT_EQ(arithmetic_limit(ceilings, MathMode::kFp32).by, "fp32 peak") << describe(ceilings);
  if (gpu.compute_capability >= 80) {
    for (const MathMode math : {MathMode::kTf32, MathMode::kFp16})
      EXPECT_GT(peak_of(ceilings, math, "mma.sync"), 1e12) << describe(ceilings);
  }
  if (gpu.compute_capability == 90) {
    EXPECT_GT(ffma, 0.8 * 2 * 128 * gpu.multiprocessors * 1.4e9) << describe(ceilings);
    for (const MathMode math : {MathMode::kTf32, MathMode::kFp16}) {
      EXPECT_GT(peak_of(ceilings, math, "wgmma"), 1.2 * peak_of(ceilings, math, "mma.sync"))
          << describe(ceilings);
      EXPECT_EQ(arithmetic_limit(ceilings, math).by, concat(to_string(math), " peak")) << describe(ceilings);
    }
    EXPECT_GT(peak_of(ceilings, MathMode::kFp16, "wgmma"), 1.6 * peak_of(ceilings, MathMode::kTf32, "wgmma"));
  }
  ASSERT_EQ(ceilings.caches.size(), 1u);
  EXPECT_GT(ceilings.caches[0].read_bytes_per_s, ceilings.read_bytes_per_s) << describe(ceilings);
  EXPECT_GT(ceilings.read_bytes_per_s, 0.5 * ceilings.copy_bytes_per_s) << describe(ceilings);
}

TEST(CeilingsGpu, ConditionsAreReadOrAReasonIsGiven) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Conditions now = read_conditions(Device::cuda(0));
  EXPECT_TRUE(!now.reason.empty() ||
              (now.clock_mhz > 0 && now.memory_clock_mhz > 0 && now.power_w > 0 && now.temperature_c > 0))
      << now.reason;
}

}  // namespace
}  // namespace lenslet
