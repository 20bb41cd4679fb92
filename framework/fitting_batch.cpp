#include "framework/fitting_batch.h"

#include <algorithm>
#include <optional>

namespace lenslet {

namespace {

constexpr int64_t kProbeBatch = 64;  // enough for rounding to 256 bytes to be nothing

// While probes are built: what does not fit among them needs no advice of its own.
thread_local bool probing = false;

struct Probing {
  Probing() { probing = true; }
  ~Probing() { probing = false; }
};

// Bytes that the graph takes of the device for a batch; none where it does not fit.
std::optional<size_t> bytes_of(const Graph& graph, BuildOptions options, int64_t batch) {
  options.batch = batch;
  options.cuda_graph = false;
  const size_t before = device_memory_taken(options.device);
  try {
    const Executable probe(graph, options);
    const size_t after = device_memory_taken(options.device);
    return after > before ? after - before : 0;
  } catch (const MemoryError&) {
    return std::nullopt;
  }
}

// Weights and a library's own memory are there for any batch, the rest grows with it: a straight line through two small
// batches. 0: not even one fits.
int64_t fitting_batch(const Graph& graph, const BuildOptions& options) {
  const Probing guard;
  for (int64_t batch = std::min(kProbeBatch, options.batch / 2); batch >= 1; batch /= 4) {
    const std::optional<size_t> once = bytes_of(graph, options, batch);
    const std::optional<size_t> twice = once ? bytes_of(graph, options, 2 * batch) : std::nullopt;
    if (!twice) continue;
    const double each =
        (static_cast<double>(*twice) - static_cast<double>(*once)) / static_cast<double>(batch);
    const double left = static_cast<double>(free_memory_bytes(options.device)) - static_cast<double>(*twice);
    const double more = each > 0 && left > 0 ? left / each : 0;
    return std::min(options.batch - 1, 2 * batch + static_cast<int64_t>(more));
  }
  return options.batch > 1 && bytes_of(graph, options, 1) ? 1 : 0;
}

}  // namespace

void throw_with_fitting_batch(const Graph& graph, const BuildOptions& options,
                              const OutOfDeviceMemory& error) {
  if (probing) throw OutOfDeviceMemory(error);
  const int64_t fits = fitting_batch(graph, options);
  throw OutOfDeviceMemory(
      concat(error.what(), fits > 0 ? concat("; the largest batch that fits is about ", fits)
                                    : std::string("; no batch fits, not even 1")),
      error.needed_bytes(), error.free_bytes());
}

}  // namespace lenslet
