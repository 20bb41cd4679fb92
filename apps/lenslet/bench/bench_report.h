// The tables of `lenslet bench`.
#pragma once

#include <vector>

#include "apps/common/output/output.h"
#include "apps/common/results/result_file.h"

namespace lenslet {

/// One line per configuration; below the table, why rows did not pass.
void print_bench(Console& console, const std::vector<ResultRow>& rows);
/// The rows of --latency: the GPU's time, and the time from host memory to host memory.
void print_latency(Console& console, const std::vector<ResultRow>& rows);

}  // namespace lenslet
