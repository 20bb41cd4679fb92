// Slices: on the CPU the steps of a pass compute some samples of the batch at once, so that what one step writes is
// still in the caches when the next one reads it. Internal: Executable and `lenslet tune` use it.
#pragma once

#include <cstdint>

#include "framework/execution/executable.h"

namespace lenslet {

/// Samples that the steps of a pass with these options compute at once: the batch, or fewer on the CPU. Depends on the
/// graph, the batch and the number of threads.
int64_t slice_samples(const Graph& graph, const BuildOptions& options);

}  // namespace lenslet
