// What to say when a batch does not fit. Internal to Executable.
#pragma once

#include "framework/device_memory.h"
#include "framework/executable.h"

namespace lenslet {

/// Throws OutOfDeviceMemory: `error` with the largest batch that fits. Builds the graph for small batches to find that out, so what the
/// failed attempt held must be free again.
[[noreturn]] void throw_with_fitting_batch(const Graph& graph, const BuildOptions& options,
                                           const OutOfDeviceMemory& error);

}  // namespace lenslet
