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
  struct sigaction action = {};
  action.sa_handler = on_signal;  // without SA_RESTART: a blocked read returns
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return signals_seen != 0; }

void throw_if_interrupted() {
  if (interrupted()) throw InterruptedError("interrupted");
}

}  // namespace lenslet
