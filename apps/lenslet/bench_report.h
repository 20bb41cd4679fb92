// The tables of `lenslet bench`.
#pragma once

#include <string>
#include <vector>

#include "apps/common/result_file.h"

namespace lenslet {

/// One line a configuration; what did not pass says why below.
std::string bench_table(const std::vector<ResultRow>& rows);
/// The rows of --latency: the GPU's time and the whole way from host memory to host memory.
std::string latency_table(const std::vector<ResultRow>& rows);

}  // namespace lenslet
