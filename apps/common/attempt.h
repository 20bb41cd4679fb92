// attempt(): an error of one of several things becomes the status and reason of its row, not the end of the run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "framework/error.h"
#include "framework/stream.h"

namespace lenslet {

/// The reason of a refusal after a signal.
inline constexpr const char* kInterrupted = "interrupted before it was measured";

/// Why something has no result.
struct Refusal {
  // UNSUPPORTED: unavailable; SKIPPED: no memory, or a signal came before; ERROR: it failed
  std::string status;
  ExitCode code = ExitCode::kOk;
  std::string reason;
};

/// Whether every later call on the stream's device would fail too. Waits.
bool device_is_lost(Stream& stream);

/// Calls `prepare`, unless a signal came, and turns its error into a refusal; nothing if it succeeds. Throws what
/// concerns the whole run: a mistake of the command line, a file that cannot be read or written.
std::optional<Refusal> attempt(const std::function<void()>& prepare);
/// The same for work on a stream: a launch that failed unreported is an error too, and the loss of the device is
/// thrown, because no other attempt could succeed.
std::optional<Refusal> attempt(Stream& stream, const std::function<void()>& prepare);

/// The same for what was prepared before: every error but an interruption is an ERROR. The lost device's error begins
/// with `name`.
std::optional<Refusal> attempt_run(const std::string& name, Stream& stream, const std::function<void()>& run);

/// attempt() for a row, with or without a stream before `prepare`: status and reason become those of the refusal.
/// Returns whether `prepare` succeeded.
template <class Row, class... Arguments, class = decltype(Row::status)>
bool attempt(Row& row, Arguments&&... arguments) {
  const std::optional<Refusal> refusal = attempt(std::forward<Arguments>(arguments)...);
  if (refusal) {
    row.status = refusal->status;
    row.reason = refusal->reason;
  }
  return !refusal;
}

}  // namespace lenslet
