// The stencil study: where the filter lies, how x is staged, and what is beyond its edges.
//
// Study E: 1D and 2D, filter in global memory, in constant memory, and tiled with halo in shared memory, with zero,
// clamped and reflected boundaries; and a kernel of our own that takes several outputs a thread.
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

/// The names that --filter and --boundary take.
const std::vector<std::string>& stencil_filters();
const std::vector<std::string>& stencil_boundaries();
/// All cells of these lists. Throws UsageError for a name that is none.
std::vector<StencilCell> stencil_cells(const std::vector<std::string>& filters,
                                       const std::vector<std::string>& boundaries);

StencilKernel kernel_of(const StencilCell& cell, const Stencil& stencil);
/// Whether there is a kernel for the cell; the reason where there is none.
Support stencil_support(const StencilCell& cell, const Stencil& stencil);
/// The cell's kernel, prepared for the task. The task must have memory before it runs.
std::unique_ptr<Contender> stencil_contender(const StencilCell& cell, StencilTask& task, Stream& stream);

/// The row of a cell, without a time.
ResultRow stencil_row(const StencilCell& cell, const Stencil& stencil, int64_t seed);
/// All cells of one stencil, filed in the session as one group.
void bench_stencil_into(const Stencil& stencil, const std::vector<StencilCell>& cells, BenchSession& session);

}  // namespace lenslet
