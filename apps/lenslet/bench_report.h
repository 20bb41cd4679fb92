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

/// The text of a label; empty where the row has none of that name.
std::string label_of(const ResultRow& row, const std::string& name);

}  // namespace lenslet
