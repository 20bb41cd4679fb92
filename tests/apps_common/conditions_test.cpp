// The clock and the governor while measuring.
#include "apps/common/system/conditions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/apps_common/written.h"

namespace lenslet {
namespace {

TEST(Conditions, OfTheCpuAreReadOrAReasonIsGiven) {
  const Conditions now = read_conditions(Device::cpu());
  EXPECT_TRUE(now.clock_mhz > 100 || now.reason.find("tells the clock") != std::string::npos) << now.reason;
  EXPECT_TRUE(!now.governor.empty() || now.reason.find("no governor") != std::string::npos) << now.reason;
  const std::string text = written([&](Document& document) { document.members()("before", now); });
  const nlohmann::json read = nlohmann::json::parse(text).at("before");
  EXPECT_EQ(read.at("device"), "cpu");
  EXPECT_TRUE(read.at("power_w").is_null());
  EXPECT_FALSE(read.at("reason").is_null());
}

}  // namespace
}  // namespace lenslet
