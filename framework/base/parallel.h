// Threads of the CPU side: one pool per process, and parallel loops.
#pragma once

#include <cstdint>

namespace lenslet {

/// A borrowed callable (begin, end). Unlike std::function it does not allocate, which run() must not do. Create it in
/// the call of parallel_for, so that it does not outlive the callable.
class RangeBody {
 public:
  /// Borrows `body`, which must outlive this object.
  template <typename Body>
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

/// Number of threads of parallel_for, including the caller. Default: LENSLET_NUM_THREADS, else the cores that this
/// process may run on.
int num_threads();
/// Limit of num_threads(), of LENSLET_NUM_THREADS and of every option for it.
inline constexpr int kMaxThreads = 1024;
/// Sets it, 1 to kMaxThreads, for the next loop. Throws UsageError for any other number.
void set_num_threads(int count);
/// Upper limit of a number of threads that is computed as operations / threshold, which no integer may hold. Above
/// every value of num_threads().
inline constexpr double kThreadsBound = 1e6;
/// Below this number of operations of a matrix product a second thread that sleeps costs more than it saves: waking it
/// takes about 10 us. The thresholds of other work are multiples of it.
inline constexpr double kFlopsPerWokenThread = 1e6;

/// Calls body(begin, end) on disjoint ranges that cover [0, count); each except the last is at least `grain` long.
/// Returns when all are done. The split depends only on count, grain and num_threads(). Rethrows the first exception. A
/// nested call runs in the calling thread. Throws MemoryError if the system refuses to start a thread. A forked process
/// starts its own threads; a thread that forks within a loop must not return into it.
void parallel_for(int64_t count, int64_t grain, RangeBody body);

/// Like parallel_for(), for a loop of a few microseconds, less than it takes to wake a thread: while one of the threads
/// sleeps, the calling thread computes all of it, as one range. Only for a body whose results do not depend on the
/// split.
void parallel_for_light(int64_t count, int64_t grain, RangeBody body);

/// Throws MemoryError unless the system can start that many threads now. Call it before a library that would otherwise
/// end the process.
void check_startable_threads(int count);

/// The pool of a program, for a module. A module has its own copy of this code and must not start a second pool.
struct ParallelHost {
  int (*num_threads)();                               // lenslet::num_threads of the program
  void (*parallel_for)(int64_t, int64_t, RangeBody);  // lenslet::parallel_for of the program
};
/// Makes the functions above use the program's pool. framework/graph/module.h calls it in a module.
void use_parallel_host(const ParallelHost& host);

}  // namespace lenslet
