#include "apps/common/system/signals.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "apps/common/output/output.h"
#include "framework/base/error.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// `timeout` signals the program and then its process group; closing a terminal may also send two signals.
constexpr int64_t kOneRequestNs = 250'000'000;

volatile std::sig_atomic_t first_signal = 0;
std::atomic<int64_t> first_at_ns{0};
int64_t deadline_ns = 0;  // of stop_after(); 0: none
std::string last_words;   // for the message at the second signal; set before a handler can run

int64_t now_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

extern "C" void on_signal(int signal) {
  if (first_signal == 0) {
    first_at_ns = now_ns();
    first_signal = signal;
    return;
  }
  if (signal == first_signal && now_ns() - first_at_ns < kOneRequestNs) return;
  remove_unfinished_files();
  write_standard_error(last_words);
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

// Throws UnavailableError if a call of the system failed.
void check_call(int result, const char* call) {
  if (result != 0)
    throw UnavailableError(concat("signals cannot be handled: ", call, ": ", std::strerror(errno)));
}

}  // namespace

void install_signal_handlers(const std::string& program) {
  last_words = program + ": interrupted again: stopped at once, partly written files were removed\n";
  // The handler gets its own stack: oneDNN's generated code uses the stack pointer for other purposes, and a handler
  // running on it would overwrite the heap. The system delivers signals to the main thread, which is this one.
  alignas(64) static char stack[1 << 18];  // has room for the largest register state that the system saves
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  check_call(::sigaltstack(&alternative, nullptr), "sigaltstack");
  struct sigaction action = {};
  action.sa_handler = on_signal;  // no SA_RESTART: a blocked read returns
  action.sa_flags = SA_ONSTACK;
  check_call(::sigemptyset(&action.sa_mask), "sigemptyset");
  for (const int signal : kSignals) {
    struct sigaction before = {};
    check_call(::sigaction(signal, nullptr, &before), "sigaction");
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    check_call(::sigaction(signal, &action, nullptr), "sigaction");
  }
}

void stop_after(double seconds) { deadline_ns = now_ns() + static_cast<int64_t>(seconds * 1e9); }

bool out_of_time() noexcept { return first_signal == 0 && deadline_ns != 0 && now_ns() >= deadline_ns; }

bool interrupted() noexcept { return first_signal != 0 || out_of_time(); }

std::string interrupting_signal() {
  switch (first_signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return {};
  }
}

void throw_if_interrupted() {
  if (interrupted()) throw InterruptedError("interrupted");
}

}  // namespace lenslet
