// The gemm study: memory modes and partitions into threads of the matrix product of im2col.
//
// Study A, tables 3 and 4: memory modes x tiles, and partitions x blocks, for one image of size x size, C=3, 3x3:
// filters [K, 27] times columns [27, size * size]. The study's figures show that its product has this shape and is not
// square: times grow with the square of the size, and "shared, tile 16" plus unrolling equals its im2col + GEMM. Here
// every kernel is correct at every size; a launch that the GPU refuses gives a row with the reason.
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
  int edge = 16;     // edge of the tile or block
};

/// The names that --memory and --partition accept.
std::vector<std::string> gemm_memory_modes();
std::vector<std::string> gemm_partitions();
/// All cells of these lists. Throws UsageError for an unknown name.
std::vector<GemmCell> gemm_cells(const std::vector<std::string>& memory, const std::vector<int>& tiles,
                                 const std::vector<std::string>& partitions, const std::vector<int>& blocks);

/// The matrix product of im2col for one image of size x size, 3 channels, 3x3, padding 1, stride 1.
MatrixShape im2col_shape(int size, int out_channels);
StudyKernel<MatrixShape> kernel_of(const GemmCell& cell, const MatrixShape& shape);
/// One kernel, prepared for the task. The task must have memory before the kernel runs.
std::unique_ptr<Candidate> matrix_candidate(const GemmCell& cell, MatrixTask& task, Stream& stream);
/// cuBLAS for the same task; `workspace_bytes` receives its workspace. Throws UnavailableError.
std::unique_ptr<Candidate> cublas_candidate(MatrixTask& task, Stream& stream, size_t& workspace_bytes);

/// The row of a cell, without a time: labels, the study's figure, the command that repeats it.
ResultRow gemm_row(const GemmCell& cell, int size, int out_channels, int64_t seed);
/// Why the cell cannot be launched, and what that means for the study's figure.
std::string refusal_of(const GemmCell& cell, const Support& support);

/// Measures all cells and cuBLAS at one size as one group and adds the rows to the session.
void bench_gemm_into(int size, int out_channels, const std::vector<GemmCell>& cells, BenchSession& session);

}  // namespace lenslet
