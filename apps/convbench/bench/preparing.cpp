#include "apps/convbench/bench/preparing.h"

#include "apps/common/signals.h"
#include "apps/measuring/measure.h"

namespace lenslet {

std::optional<Refusal> refusal_of(Stream& stream, const std::function<void()>& prepare) {
  const auto refusal = [](const char* status, const Error& error) {
    return Refusal{status, error.exit_code(), error.what()};
  };
  try {
    throw_if_interrupted();
    prepare();
    throw_on_unreported_error(stream.device());
  } catch (const InterruptedError&) {
    return Refusal{"SKIPPED", ExitCode::kInterrupted, "interrupted before it was prepared"};
  } catch (const UnavailableError& error) {
    return refusal("UNSUPPORTED", error);
  } catch (const MemoryError& error) {
    return refusal("SKIPPED", error);
  } catch (const DeviceError& error) {
    if (device_is_lost(stream)) throw;
    return refusal("ERROR", error);
  }
  return std::nullopt;
}

}  // namespace lenslet
