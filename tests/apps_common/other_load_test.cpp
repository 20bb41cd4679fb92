// What other programs take of the machine while a command measures, and the line that states it.
#include "apps/common/system/other_load.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace lenslet {
namespace {

Conditions with_processes(double count) {
  Conditions conditions;
  conditions.processes = count;
  return conditions;
}

TEST(OtherLoad, IsStatedAboveWhatSystemServicesTake) {
  EXPECT_EQ(busy_note(0.2, 2, {}), "");
  EXPECT_EQ(busy_note(NAN, 2, {}), "") << "unknown";
  EXPECT_EQ(busy_note(3.0, 192, {}), "") << "less than a twentieth of the cores";
  EXPECT_EQ(
      busy_note(1.4, 2, {}),
      "busy machine: other programs used 1.40 of 2 cores, so times may be too long; repeat it when idle");
  EXPECT_NE(busy_note(12, 192, {}), "");
}

TEST(OtherLoad, NamesOtherProcessesOnTheGpu) {
  EXPECT_EQ(busy_note(0, 2, with_processes(1)), "") << "this process alone";
  EXPECT_EQ(busy_note(0, 2, with_processes(0)), "");
  EXPECT_NE(busy_note(0, 2, with_processes(2)).find(": another process has the GPU open, so "),
            std::string::npos);
  EXPECT_NE(busy_note(1, 2, with_processes(4))
                .find(": other programs used 1.00 of 2 cores; 3 other processes have the GPU open, so "),
            std::string::npos);
}

// A child computes; its time counts as another program's until it has ended and this process has waited for it.
TEST(OtherLoad, CountsAnotherProcess) {
  std::ifstream file("/proc/stat");
  std::string word;
  double user = 0;
  if (!(file >> word >> user) || user <= 0) GTEST_SKIP() << "/proc/stat has no times here";
  const OtherLoad load;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile int i = 0;; i = i + 1) {
    }
  }
  double cores = 0;
  for (int tries = 0; tries < 100 && !(cores > 0.2); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cores = load.cores();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_GT(cores, 0.2);
  EXPECT_LE(cores, load.allowed_cores() + 0.5);
}

// On one core, all of whose time is either this process's or others'.
TEST(OtherLoad, DoesNotCountThisProcess) {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_SET(::sched_getcpu(), &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0)
    GTEST_SKIP() << "this process cannot be kept on one core";
  const OtherLoad load;
  EXPECT_EQ(load.allowed_cores(), 1);
  const double own_start = static_cast<double>(std::clock());
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> elapsed{};
  while (elapsed.count() < 0.6) elapsed = std::chrono::steady_clock::now() - start;
  const double cores = load.cores();
  const double own = (static_cast<double>(std::clock()) - own_start) / CLOCKS_PER_SEC / elapsed.count();
  ::sched_setaffinity(0, sizeof all, &all);
  if (std::isnan(cores)) GTEST_SKIP() << "/proc/stat has no times here";
  EXPECT_LE(cores, 1 - own + 0.15) << "this process used " << own;
}

}  // namespace
}  // namespace lenslet
