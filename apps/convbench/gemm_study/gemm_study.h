// The gemm study: which memory feeds im2col's matrix product, and how it is cut into threads.
//
// Study A, tables 3 and 4: memory modes x tiles, and partitions x blocks, for one image of size x size, C=3, 3x3:
// filters [K, 27] times columns [27, size * size]. That it is im2col's product and no square one shows in what it
// printed: times grow with the square of the size, and "shared, tile 16" and unrolling add up to its im2col + GEMM.
// Here all of them are right at every size, and what a card cannot launch is a row that says so.
#pragma once

#include <string>
#include <vector>

#include "apps/convbench/bench/study_bench.h"
#include "apps/convbench/gemm_study/matrix_task.h"

namespace lenslet {

/// One cell of the study's tables.
struct GemmCell {
  enum class Table { kMemory, kPartition };
  Table table = Table::kMemory;
  std::string kind;  // "global", "shared", "register"; "row", "column", "element"
  int edge = 16;     // tile or block
};

/// The names that --memory and --partition take.
const std::vector<std::string>& gemm_memory_modes();
const std::vector<std::string>& gemm_partitions();
/// All cells of these lists. Throws UsageError for a name that is none.
std::vector<GemmCell> gemm_cells(const std::vector<std::string>& memory, const std::vector<int>& tiles,
                                 const std::vector<std::string>& partitions, const std::vector<int>& blocks);

/// im2col's product for one image of size x size, 3 channels, 3x3, padding 1, stride 1.
MatrixShape im2col_shape(int size, int out_channels);
MatrixKernel kernel_of(const GemmCell& cell);
/// One of the kernels, prepared for the task. The task must have memory before it runs.
std::unique_ptr<Contender> matrix_contender(const GemmCell& cell, MatrixTask& task, Stream& stream);
/// cuBLAS for the same task; `workspace_bytes` is what it wants of the task. Throws UnavailableError.
std::unique_ptr<Contender> cublas_contender(MatrixTask& task, Stream& stream, size_t& workspace_bytes);

/// The row of a cell, without a time: labels, the study's figure, the command that measures it again.
ResultRow gemm_row(const GemmCell& cell, int size, int out_channels, int64_t seed);
/// Why the cell cannot be launched, with what that makes of the study's figure.
std::string refusal_of(const GemmCell& cell, const Support& support);

/// All cells and cuBLAS at one size, filed in the session as one group.
void bench_gemm_into(int size, int out_channels, const std::vector<GemmCell>& cells, BenchSession& session);

}  // namespace lenslet
