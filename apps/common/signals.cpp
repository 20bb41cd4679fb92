#include "apps/common/signals.h"

#include <unistd.h>

#include <csignal>

#include "framework/error.h"

namespace lenslet {
namespace {

volatile std::sig_atomic_t signals_seen = 0;

extern "C" void on_signal(int) {
  if (signals_seen != 0) ::_exit(static_cast<int>(ExitCode::kInterrupted));
  signals_seen = 1;
}

}  // namespace

void install_signal_handlers() {
  // A stack of its own for the handler: oneDNN's generated code uses the stack pointer for other things, and a handler
  // that runs on what it then points to overwrites the heap. The system gives a signal to the main thread, which is this.
  alignas(64) static char stack[1 << 18];  // with room for the largest register state that is saved on it
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_signal;  // without SA_RESTART: a blocked read returns
  action.sa_flags = SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return signals_seen != 0; }

void throw_if_interrupted() {
  if (interrupted()) throw InterruptedError("interrupted");
}

}  // namespace lenslet
