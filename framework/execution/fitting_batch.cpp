#include "framework/execution/fitting_batch.h"

#include <algorithm>
#include <optional>

namespace lenslet {

namespace {

// Probes use a part of the free memory, small enough to be allocated and cleared quickly.
constexpr double kProbeBytes = 256.0 * 1024 * 1024;
constexpr double kMargin = 0.01;  // rounding to a device's pages, and choices that change with the batch

// Set while probes are built: an error of a probe needs no advice.
thread_local bool probing = false;

struct Probing {
  Probing() { probing = true; }
  ~Probing() { probing = false; }
};

// Bytes of the device that the graph needs for a batch; nullopt if it does not fit.
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

// Memory is a constant (weights, libraries) plus a part proportional to the batch: extrapolates the line through two
// batches that are large enough to use the same kernels as the largest. Returns 0 if not even one sample fits.
int64_t fitting_batch(const Graph& graph, const BuildOptions& options, const OutOfDeviceMemory& error) {
  const Probing guard;
  const double each_at_most =
      std::max(1.0, static_cast<double>(error.needed_bytes()) / static_cast<double>(options.batch));
  const double room = std::min(static_cast<double>(free_memory_bytes(options.device)) / 2, kProbeBytes);
  const auto max_batch = static_cast<int64_t>(room / each_at_most);
  for (int64_t batch = std::min(max_batch, options.batch / 2); batch >= 2; batch /= 4) {
    const std::optional<size_t> half = bytes_of(graph, options, batch / 2);
    const std::optional<size_t> whole = half ? bytes_of(graph, options, batch) : std::nullopt;
    if (!whole) continue;
    const double each =
        (static_cast<double>(*whole) - static_cast<double>(*half)) / static_cast<double>(batch - batch / 2);
    const double free_bytes = static_cast<double>(free_memory_bytes(options.device)) * (1 - kMargin);
    const double left = free_bytes - static_cast<double>(*whole);
    const double more = each > 0 && left > 0 ? left / each : 0;
    return std::min(options.batch - 1, batch + static_cast<int64_t>(more));
  }
  return options.batch > 1 && bytes_of(graph, options, 1) ? 1 : 0;
}

}  // namespace

void throw_with_fitting_batch(const Graph& graph, const BuildOptions& options,
                              const OutOfDeviceMemory& error) {
  if (probing) throw OutOfDeviceMemory(error);
  const int64_t fits = fitting_batch(graph, options, error);
  throw OutOfDeviceMemory(
      concat(error.what(), fits > 0 ? concat("; the largest batch that fits is about ", fits)
                                    : std::string("; not even a batch of 1 fits")),
      error.needed_bytes(), error.free_bytes());
}

}  // namespace lenslet
