#include "framework/measuring/cpu_caches.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "framework/base/error.h"

namespace lenslet {
namespace {

std::string first_word(const std::string& name) {
  std::ifstream file(name);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

CpuCaches cpu_caches(int level, const std::string& folder) {
  CpuCaches caches;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return caches;
  std::set<std::string> seen;  // the cores of each cache
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    for (int index = 0;; ++index) {
      const std::string cache = concat(folder, "/cpu", core, "/cache/index", index, "/");
      const std::string found = first_word(cache + "level");
      if (found.empty()) break;
      if (found != std::to_string(level) || first_word(cache + "type") == "Instruction") continue;
      if (!seen.insert(first_word(cache + "shared_cpu_list")).second) continue;
      const std::string kib = first_word(cache + "size");  // "32768K"
      caches.bytes = std::max<size_t>(caches.bytes, std::strtoull(kib.c_str(), nullptr, 10) * 1024);
      ++caches.count;
    }
  }
  return caches;
}

}  // namespace lenslet
