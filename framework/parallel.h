// Threads for the CPU side: one pool a process, loops split over it.
#pragma once

#include <cstdint>
#include <functional>

namespace lenslet {

/// Threads that parallel_for uses, the caller included. Default: LENSLET_NUM_THREADS, else the cores this
/// process may run on.
int num_threads();
/// Throws UsageError below 1 or above 1024. Not to be called while a parallel_for runs.
void set_num_threads(int count);

/// Calls body(begin, end) on disjoint ranges that cover [0, count), each at least `grain` long save the last;
/// returns when all are done. The split depends on count, grain and num_threads() alone. The first exception
/// is rethrown. A nested call runs in the calling thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

/// The pool of one program, for a module: it carries its own copy of this code and must not start a second
/// pool.
struct ParallelHost {
  int (*num_threads)();
  void (*parallel_for)(int64_t, int64_t, const std::function<void(int64_t, int64_t)>&);
};
/// From now on the functions above use the program's pool. Called in a module, by framework/module.h.
void use_parallel_host(const ParallelHost& host);

}  // namespace lenslet
