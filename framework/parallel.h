// Threads for the CPU side: one pool a process, loops split over it.
#pragma once

#include <cstdint>

namespace lenslet {

/// A borrowed callable (begin, end): what std::function would be without the allocation that run() must not make. Lives
/// no longer than what it borrows, so it is made in the call of parallel_for.
class RangeBody {
 public:
  template <typename Body>
  /// Borrows `body`, which must live as long.
  RangeBody(const Body& body)
      : body_(&body), call_([](const void* object, int64_t begin, int64_t end) {
          (*static_cast<const Body*>(object))(begin, end);
        }) {}
  /// Calls it on [begin, end).
  void operator()(int64_t begin, int64_t end) const { call_(body_, begin, end); }

 private:
  const void* body_;
  void (*call_)(const void*, int64_t, int64_t);
};

/// Threads that parallel_for uses, the caller included. Default: LENSLET_NUM_THREADS, else the cores this
/// process may run on.
int num_threads();
/// Throws UsageError below 1 or above 1024. Takes effect with the next loop.
void set_num_threads(int count);

/// Calls body(begin, end) on disjoint ranges that cover [0, count), each at least `grain` long save the last;
/// returns when all are done. The split depends on count, grain and num_threads() alone. The first exception
/// is rethrown. A nested call runs in the calling thread. Throws MemoryError where the system refuses to start a thread.
/// A forked process starts threads of its own; a thread that forks within a loop must not return into it.
void parallel_for(int64_t count, int64_t grain, RangeBody body);

/// Throws MemoryError unless the system starts that many threads now. For a library that would end the process instead.
void demand_startable_threads(int count);

/// The pool of one program, for a module: it carries its own copy of this code and must not start a second
/// pool.
struct ParallelHost {
  int (*num_threads)();                               // lenslet::num_threads of the program
  void (*parallel_for)(int64_t, int64_t, RangeBody);  // lenslet::parallel_for of the program
};
/// From now on the functions above use the program's pool. Called in a module, by framework/module.h.
void use_parallel_host(const ParallelHost& host);

}  // namespace lenslet
