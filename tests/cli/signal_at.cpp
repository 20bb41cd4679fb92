// Preloaded into a program under test: sends it a signal at a given point of its own execution, so that a test hits the
// same phase on every machine.
//
// LENSLET_TEST_SIGNAL_AT lists points that must be reached in order, separated by ',': KIND:N (the
// N-th such event from then on) or KIND:TEXT (the first whose text contains TEXT). Kinds: open (a file
// for reading), print (to standard output or error), clock (a reading), create (a temporary file),
// write (to a file), rename. LENSLET_TEST_SIGNAL is the signal's number, LENSLET_TEST_SIGNAL_COUNT the
// number of signals sent together [1]. Every second one is SIGTERM, or SIGINT after SIGTERM, because
// two equal pending signals become one. LENSLET_TEST_SIGNAL_SAME sends equal ones anyway.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

std::atomic_flag busy = ATOMIC_FLAG_INIT;
thread_local bool inside = false;
const char* points = nullptr;  // points not reached yet; null before the first event
long seen = 0;                 // events of the current kind so far
bool started = false;

void send_signal() {
  const char* const number = std::getenv("LENSLET_TEST_SIGNAL");
  const char* const count = std::getenv("LENSLET_TEST_SIGNAL_COUNT");
  const int first = number ? std::atoi(number) : 0;
  const int other = std::getenv("LENSLET_TEST_SIGNAL_SAME") ? first : first == SIGTERM ? SIGINT : SIGTERM;
  for (int i = 0; first != 0 && i < (count ? std::atoi(count) : 1); ++i) {
    ::kill(::getpid(), i % 2 == 0 ? first : other);
  }
}

// Whether this event is the last point.
bool advance(const char* kind, const char* text, size_t text_bytes) {
  if (!started) {
    points = std::getenv("LENSLET_TEST_SIGNAL_AT");
    started = true;
  }
  const size_t kind_bytes = std::strlen(kind);
  if (points == nullptr || std::strncmp(points, kind, kind_bytes) != 0 || points[kind_bytes] != ':')
    return false;
  const char* const what = points + kind_bytes + 1;
  const size_t what_bytes = std::strcspn(what, ",");
  const long wanted = std::strtol(what, nullptr, 10);
  const bool reached = wanted > 0
                           ? ++seen == wanted
                           : text != nullptr && ::memmem(text, text_bytes, what, what_bytes) != nullptr;
  if (!reached) return false;
  seen = 0;
  points = what[what_bytes] == ',' ? what + what_bytes + 1 : nullptr;
  return points == nullptr;
}

void event(const char* kind, const char* text = nullptr, size_t text_bytes = 0) {
  if (inside) return;  // a nested call from this function
  inside = true;
  while (busy.test_and_set()) {  // an event of another thread
  }
  const bool last = advance(kind, text, text_bytes);
  busy.clear();
  inside = false;
  if (last) send_signal();
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

#define LENSLET_EXPORT __attribute__((visibility("default")))

LENSLET_EXPORT int open(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? static_cast<mode_t>(va_arg(more, int)) : 0;
  va_end(more);
  const int descriptor = real(path, flags, mode);
  event("open", path, std::strlen(path));
  return descriptor;
}

LENSLET_EXPORT int mkostemp(char* pattern, int flags) {
  static auto* const real = next<int(char*, int)>("mkostemp");
  const int descriptor = real(pattern, flags);
  event("create");
  return descriptor;
}

LENSLET_EXPORT ssize_t write(int descriptor, const void* data, size_t bytes) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  const ssize_t written = real(descriptor, data, bytes);
  event(descriptor <= STDERR_FILENO ? "print" : "write", static_cast<const char*>(data), bytes);
  return written;
}

LENSLET_EXPORT int rename(const char* from, const char* to) {
  static auto* const real = next<int(const char*, const char*)>("rename");
  event("rename");
  return real(from, to);
}

LENSLET_EXPORT int clock_gettime(clockid_t clock, timespec* now) {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  event("clock");
  return real(clock, now);
}

}  // extern "C"
