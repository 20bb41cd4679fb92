// The error for a batch that does not fit into memory. Internal to Executable.
#pragma once

#include "framework/device/device_memory.h"
#include "framework/execution/executable.h"

namespace lenslet {

/// Throws OutOfDeviceMemory: `error` with the largest batch that fits. Builds the graph for smaller batches to find it,
/// so the memory of the failed attempt must be released before.
[[noreturn]] void throw_with_fitting_batch(const Graph& graph, const BuildOptions& options,
                                           const OutOfDeviceMemory& error);

}  // namespace lenslet
