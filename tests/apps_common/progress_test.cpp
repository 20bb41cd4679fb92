// The line of progress and the time left.
#include "apps/common/output/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>

namespace lenslet {
namespace {

TEST(Progress, OffATerminalALineEachPeriod) {
  const auto printed = [](double line_ns) {
    testing::internal::CaptureStderr();
    ProgressBar bar("layers", 4, line_ns);
    for (int i = 1; i <= 4; ++i) bar.update(i);
    return testing::internal::GetCapturedStderr();
  };
  const std::string lines = printed(0);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4) << lines;
  EXPECT_EQ(lines.rfind("layers: 1/4, ", 0), 0u) << lines;
  EXPECT_EQ(lines.find_first_of("\r\x1b"), std::string::npos) << lines;
  EXPECT_EQ(printed(ProgressBar::kLineNs), "");
}

// "1:05" in seconds.
int seconds_before(const std::string& line, const std::string& words) {
  const size_t end = line.find(words), begin = line.rfind(' ', end - 1) + 1, colon = line.find(':', begin);
  if (end == std::string::npos || colon >= end) return -1;
  return 60 * std::stoi(line.substr(begin, colon - begin)) + std::stoi(line.substr(colon + 1, 2));
}

TEST(Progress, ATimeThatIsExpectedIsCorrectedByTheItemsThatAreDone) {
  testing::internal::CaptureStderr();
  ProgressBar bar("cases", 3, 0);
  bar.expect({0.02, 10, 8});
  bar.pulse();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // three times as long as expected, or longer
  bar.update(1);
  bar.pulse();
  std::istringstream lines(testing::internal::GetCapturedStderr());
  std::string before, after, again;
  std::getline(lines, before);
  std::getline(lines, after);
  std::getline(lines, again);
  EXPECT_EQ(before, "cases: 0/3, about 0:18 left");
  EXPECT_EQ(after.rfind("cases: 1/3, ", 0), 0u) << after;
  EXPECT_GE(seconds_before(after, " left"), 3 * 18 - 1) << after;
  EXPECT_EQ(again.rfind("cases: 1/3, ", 0), 0u) << "a pulse finishes no item: " << again;
}

TEST(Progress, AnItemThatTakesLongerThanExpectedLeavesTheRestUnknown) {
  const auto printed = [](std::vector<double> expected_s) {
    testing::internal::CaptureStderr();
    ProgressBar bar("cases", static_cast<int64_t>(expected_s.size()), 0);
    bar.expect(std::move(expected_s));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    bar.pulse();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed({0.001}), "cases: 0:00 so far\n");
  EXPECT_EQ(printed({0.001, 0.001}), "cases: 0/2\n");
  EXPECT_EQ(printed({60}), "cases: 0:00 so far, about 1:00 left\n");
}

TEST(Progress, OneItemAloneShowsTheTimeSoFar) {
  testing::internal::CaptureStderr();
  ProgressBar bar("plans", 1, 0);
  bar.pulse();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "plans: 0:00 so far\n");
}

}  // namespace
}  // namespace lenslet
