// The stencil study: where the filter is stored, how x is staged, and what lies beyond the edges.
//
// Study E: 1D and 2D; the filter in global memory, in constant memory, and with x tiled with its halo in shared memory;
// zero, clamped and reflected boundaries. Another kernel, of our own, computes several outputs per thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/convbench/bench/study_bench.h"
#include "apps/convbench/stencil/stencil_kernels.h"
#include "apps/convbench/stencil/stencil_task.h"

namespace lenslet {

/// One cell of the study.
struct StencilCell {
  std::string filter;  // "global", "constant", "tiled", "vector"
  Boundary boundary = Boundary::kZero;
};

/// The names that --filter and --boundary accept.
std::vector<std::string> stencil_filters();
std::vector<std::string> stencil_boundaries();
/// All cells of these lists. Throws UsageError for an unknown name.
std::vector<StencilCell> stencil_cells(const std::vector<std::string>& filters,
                                       const std::vector<std::string>& boundaries);

StencilKernel kernel_of(const StencilCell& cell, const Stencil& stencil);
/// Whether the device can launch the cell's kernel; if not, the reason.
Support stencil_support(const StencilCell& cell, const Stencil& stencil, Device device);
/// The cell's kernel, prepared for the task. The task must have memory before the kernel runs.
std::unique_ptr<Candidate> stencil_candidate(const StencilCell& cell, StencilTask& task, Stream& stream);

/// The row of a cell, without a time.
ResultRow stencil_row(const StencilCell& cell, const Stencil& stencil, int64_t seed);
/// Measures all cells of one stencil as one group, adds the rows to the session and returns them.
std::vector<ResultRow> bench_stencil_into(const Stencil& stencil, const std::vector<StencilCell>& cells,
                                          BenchSession& session);

}  // namespace lenslet
