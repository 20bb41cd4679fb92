// oneDNN on the program's threads. Debian's oneDNN starts OpenMP threads, which spin after each loop and compete with
// the program's pool for the cores. So each call runs on one thread, and the program's pool splits the work. Internal:
// only the oneDNN modules include it.
#pragma once

#include <dnnl_config.h>
#include <unistd.h>

#include <atomic>

#include "framework/base/error.h"
#include "framework/base/parallel.h"

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
// Weak: resolved when the module is opened, to the OpenMP runtime of libdnnl.
extern "C" {
__attribute__((weak)) int omp_get_max_threads();
__attribute__((weak)) void omp_set_num_threads(int);
}
#endif

namespace lenslet {

/// Throws MemoryError if the system refuses threads, because OpenMP would end the process. Throws DeviceError in a
/// process forked after OpenMP started threads, because it would wait forever.
inline void check_openmp_threads(int count) {
  static std::atomic<int> startable{1};
  static std::atomic<pid_t> owner{0};
  if (count <= 1) return;
  pid_t first = 0;
  const pid_t here = ::getpid();
  if (!owner.compare_exchange_strong(first, here) && first != here) {
    throw DeviceError(
        "oneDNN computed with several threads before this process was forked, and a fork copies no threads: "
        "use one thread or another backend, or start the process by exec (Python: 'spawn')");
  }
  int max_startable = startable;
  if (count <= max_startable) return;
  check_startable_threads(count);
  while (max_startable < count && !startable.compare_exchange_weak(max_startable, count)) {
  }
}

/// Sets the number of OpenMP threads for calls of oneDNN from this thread; the destructor restores it.
class OneDnnThreads {
 public:
  explicit OneDnnThreads([[maybe_unused]] int count) {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
    check_openmp_threads(count);
    if (omp_get_max_threads && omp_set_num_threads) {
      before_ = omp_get_max_threads();
      if (before_ != count) omp_set_num_threads(count);
    }
#endif
  }
  ~OneDnnThreads() {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
    if (before_ > 0 && omp_set_num_threads) omp_set_num_threads(before_);
#endif
  }
  OneDnnThreads(const OneDnnThreads&) = delete;
  OneDnnThreads& operator=(const OneDnnThreads&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

}  // namespace lenslet
