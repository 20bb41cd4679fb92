// What becomes of a candidate that cannot be prepared: a row with the reason, not the end of the run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "framework/error.h"
#include "framework/stream.h"

namespace lenslet {

/// Why there is no contender.
struct Refusal {
  std::string status;  // UNSUPPORTED, SKIPPED for want of memory or after Ctrl-C, ERROR
  ExitCode code;
  std::string reason;
};

/// Calls `prepare`, unless Ctrl-C asked for the end, and turns what it throws into a refusal; nothing where it goes
/// well. Throws DeviceError only where the device of `stream` is lost: then no other candidate can be prepared either.
std::optional<Refusal> refusal_of(Stream& stream, const std::function<void()>& prepare);

}  // namespace lenslet
