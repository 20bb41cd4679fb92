#include "apps/common/results/attempt.h"

#include <new>

#include "apps/common/system/signals.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/tensor.h"

namespace lenslet {
namespace {

// Null for an error that concerns the whole run.
const char* status_of(ExitCode code) {
  switch (code) {
    case ExitCode::kUnavailable:
      return row_status::kUnsupported;
    case ExitCode::kMemory:
    case ExitCode::kInterrupted:
      return row_status::kSkipped;
    case ExitCode::kDevice:
      return row_status::kError;
    default:
      return nullptr;
  }
}

NoResult out_of_host_memory() {
  return {row_status::kSkipped, ExitCode::kMemory,
          "out of host memory; a smaller batch or problem needs less"};
}

}  // namespace

const char* why_unmeasured() noexcept {
  return out_of_time() ? "stopped by --max-seconds before it was measured"
                       : "interrupted before it was measured";
}

bool device_is_lost(Stream& stream) {
  try {
    stream.synchronise();
    Buffer probe(stream.device(), 4);
    fill_bytes(probe.data(), probe.device(), 0, probe.bytes(), stream);
    stream.synchronise();
    return false;
  } catch (const DeviceError&) {
    return true;
  }
}

std::optional<NoResult> attempt(const std::function<void()>& prepare) {
  try {
    if (interrupted()) throw InterruptedError(why_unmeasured());
    prepare();
    return std::nullopt;
  } catch (const Error& error) {
    const ExitCode code = error.exit_code();
    const char* const status = status_of(code);
    if (!status) throw;
    return NoResult{status, code, code == ExitCode::kInterrupted ? why_unmeasured() : error.what()};
  } catch (const std::bad_alloc&) {
    return out_of_host_memory();
  }
}

std::optional<NoResult> attempt(Stream& stream, const std::function<void()>& prepare) {
  std::optional<NoResult> refusal = attempt([&] {
    prepare();
    throw_on_unreported_error(stream.device());
  });
  if (refusal && refusal->code == ExitCode::kDevice && device_is_lost(stream))
    throw DeviceError(refusal->reason);
  return refusal;
}

std::optional<NoResult> attempt_run(const std::string& name, Stream& stream,
                                    const std::function<void()>& run) {
  try {
    if (interrupted()) throw InterruptedError(why_unmeasured());
    run();
    return std::nullopt;
  } catch (const InterruptedError& error) {
    return NoResult{row_status::kSkipped, error.exit_code(), why_unmeasured()};
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kDevice && device_is_lost(stream))
      throw DeviceError(concat(name, ": ", error.what()));
    return NoResult{row_status::kError, error.exit_code(), error.what()};
  } catch (const std::bad_alloc&) {
    return out_of_host_memory();
  }
}

}  // namespace lenslet
