// The tables of `lenslet bench`.
#pragma once

#include <string>
#include <vector>

#include "apps/common/results/result_file.h"

namespace lenslet {

/// One line per configuration; below the table, why rows did not pass.
std::string bench_table(const std::vector<ResultRow>& rows);
/// The rows of --latency: the GPU's time, and the time from host memory to host memory.
std::string latency_table(const std::vector<ResultRow>& rows);

}  // namespace lenslet
