// attempt(): turns the error of one candidate into the status and reason of its row, so that the run continues.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/device/stream.h"

namespace lenslet {

/// The reason of rows that a signal or --max-seconds left unmeasured.
const char* why_unmeasured() noexcept;

/// Why something has no result.
struct NoResult {
  // UNSUPPORTED: unavailable; SKIPPED: out of memory, or interrupted before it began; ERROR: it failed
  std::string status;
  ExitCode code = ExitCode::kOk;
  std::string reason;
};

/// Whether every later call on the stream's device would fail too. Synchronises.
bool device_is_lost(Stream& stream);

/// Calls `prepare` unless a signal came. Returns its error as a refusal, nullopt on success. Errors that concern the
/// whole run are thrown: a wrong command line, a file that cannot be read or written.
std::optional<NoResult> attempt(const std::function<void()>& prepare);
/// Like attempt() above, for work on a stream: reports a failed launch that `prepare` left unchecked, and throws
/// DeviceError if the device is lost, because every later attempt would fail.
std::optional<NoResult> attempt(Stream& stream, const std::function<void()>& prepare);

/// Like attempt() above, for running a prepared candidate: every error except an interruption and exhausted host
/// memory becomes ERROR. If the device is lost, the message begins with `name`.
std::optional<NoResult> attempt_run(const std::string& name, Stream& stream,
                                    const std::function<void()>& run);

/// attempt() for a row: passes `arguments` on and copies a refusal's status and reason to the row. Returns whether
/// `prepare` succeeded.
template <class Row, class... Arguments, class = decltype(Row::status)>
bool attempt(Row& row, Arguments&&... arguments) {
  const std::optional<NoResult> refusal = attempt(std::forward<Arguments>(arguments)...);
  if (refusal) {
    row.status = refusal->status;
    row.reason = refusal->reason;
  }
  return !refusal;
}

}  // namespace lenslet
