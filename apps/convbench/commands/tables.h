// What the studies print once their rows are measured. A function each, so that a test prints the rows of kept files.
#pragma once

#include <string>
#include <vector>

#include "apps/common/output/output.h"
#include "apps/common/results/result_file.h"

namespace lenslet {

/// convbench sweep: sizes and strides by backends, in each way of measuring.
void print_sweep(Console& console, const std::vector<ResultRow>& rows);
/// convbench ladder: the rungs on one problem, and what they are compared with.
void print_climb(Console& console, const std::vector<ResultRow>& rows);
/// convbench gemm: by memory and tile, and by partition and block, in the first row's cache state.
void print_gemm_study(Console& console, const std::vector<ResultRow>& rows);
/// convbench filter: the backends on one picture.
void print_filter(Console& console, const std::vector<ResultRow>& rows);
/// convbench streams: one problem by number of streams.
void print_streams(Console& console, const std::vector<ResultRow>& rows);
/// convbench separable: blocks beside standard convolutions; `vendor` is the library that has columns of its own.
void print_separable(Console& console, const std::vector<ResultRow>& rows, const std::string& vendor);
/// convbench stencil: the filters on one input; `copy_bytes_per_s` is the device's ceiling.
void print_stencil(Console& console, std::vector<ResultRow> rows, double copy_bytes_per_s);
/// convbench reproduce: each figure that a study printed, and this device's.
void print_published(Console& console, const std::vector<ResultRow>& rows);

}  // namespace lenslet
