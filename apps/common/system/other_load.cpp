#include "apps/common/system/other_load.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "apps/common/output/text.h"
#include "framework/base/clock.h"
#include "framework/base/counted.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

constexpr double kMinSeconds = 0.1;  // Linux counts in hundredths of a second

// Below the larger of both nothing is printed. Chosen by hand: system services take less.
constexpr double kQuietCores = 0.25, kQuietShare = 0.05;

cpu_set_t allowed_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(::getpid(), sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

// Seconds in which the cores of the set were not idle, since the machine started; NaN if unknown.
double busy_seconds(const cpu_set_t& set) {
  std::ifstream file("/proc/stat");
  double ticks = 0;
  for (std::string line; std::getline(file, line);) {
    int core = 0;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft_irq = 0, steal = 0;
    if (line.rfind("cpu", 0) != 0 || line.rfind("cpu ", 0) == 0) continue;
    std::istringstream words(line.substr(3));
    if (!(words >> core >> user >> nice >> system >> idle >> wait >> irq >> soft_irq >> steal)) return NAN;
    if (core < CPU_SETSIZE && CPU_ISSET(core, &set)) ticks += user + nice + system + irq + soft_irq + steal;
  }
  return ticks > 0 ? ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)) : NAN;
}

double own_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (::getrusage(who, &usage) != 0) return NAN;
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  return sum;
}

}  // namespace

OtherLoad::OtherLoad()
    : start_s_(host_now_ns() * 1e-9), busy_s_(busy_seconds(allowed_set())), own_s_(own_seconds()) {
  const cpu_set_t set = allowed_set();
  allowed_ = CPU_COUNT(&set);
}

double OtherLoad::cores() const {
  const double elapsed = host_now_ns() * 1e-9 - start_s_;
  if (elapsed < kMinSeconds) return NAN;
  const double others = busy_seconds(allowed_set()) - busy_s_ - (own_seconds() - own_s_);
  return std::isnan(others) ? NAN : std::max(others, 0.0) / elapsed;
}

std::string busy_note(double other_cores, int allowed_cores, const Conditions& after) {
  std::string others;
  if (other_cores > std::max(kQuietCores, kQuietShare * allowed_cores)) {
    others =
        concat("other programs used ", format_short(other_cores), " of ", counted(allowed_cores, "core"));
  }
  if (after.processes > 1) {
    const auto count = static_cast<int>(after.processes) - 1;
    add_clause(others, concat(count == 1 ? "another process has" : concat(count, " other processes have"),
                              " the GPU open"));
  }
  if (others.empty()) return others;
  return concat("busy machine: ", others, ", so times may be too long; repeat it when idle");
}

}  // namespace lenslet
