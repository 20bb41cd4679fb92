#include "apps/convbench/gemm_study/gemm_study.h"

#include <cstdint>
#include <memory>
#include <optional>

#include "apps/common/command_line/option_values.h"
#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/convbench/bench/published.h"
#include "framework/base/error.h"
#include "framework/device/gpu_limits.h"
#include "framework/measuring/row_status.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

using StudyTable = GemmCell::Table;

/// One of the study's tables: its kernels, and their names in rows and options.
struct TableOfStudy {
  StudyTable table;
  const char *name, *kind, *edge;                      // labels of a row
  const char *kind_option, *edge_option, *not_others;  // of the command that repeats a row
  Words<MatrixKernel (*)(int edge)> kernels;
};
const TableOfStudy& describe(StudyTable table) {
  static const TableOfStudy tables[] = {
      {StudyTable::kMemory,
       "gemm_memory",
       "memory",
       "tile",
       "--memory",
       "--tiles",
       "--partition none",
       {{{"global", matrix_element}, {"shared", matrix_shared}, {"register", matrix_register}}}},
      {StudyTable::kPartition,
       "gemm_partition",
       "partition",
       "block",
       "--partition",
       "--blocks",
       "--memory none",
       {{{"row", matrix_row}, {"column", matrix_column}, {"element", matrix_element}}}}};
  return tables[table == StudyTable::kMemory ? 0 : 1];
}

std::optional<PublishedFigure> printed_for(const GemmCell& cell, int size) {
  return published_figure(describe(cell.table).name, cell.kind, size, std::to_string(cell.edge));
}

/// Empty, or why the row is skipped: partitions by row whose block covers all rows are the same launch, apart from
/// threads that exit at once. At sizes where a run takes seconds, only the first of them is measured.
std::string repetition(const GemmCell& cell, const std::vector<GemmCell>& cells, int size, int out_channels) {
  constexpr int kSlow = 2048;  // the smallest of such sizes
  if (cell.kind != "row" || size < kSlow) return {};
  for (const GemmCell& before : cells) {
    if (before.kind != "row") continue;
    if (before.edge == cell.edge) return {};
    if (before.edge >= out_channels && cell.edge >= out_channels) {
      return concat("one block of ", out_channels, " working threads, as with block ", before.edge,
                    ", at seconds a run: measured there, and at smaller sizes");
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> gemm_memory_modes() { return describe(StudyTable::kMemory).kernels.words(); }
std::vector<std::string> gemm_partitions() { return describe(StudyTable::kPartition).kernels.words(); }

std::vector<GemmCell> gemm_cells(const std::vector<std::string>& memory, const std::vector<int>& tiles,
                                 const std::vector<std::string>& partitions, const std::vector<int>& blocks) {
  std::vector<GemmCell> cells;
  const auto add = [&](StudyTable table, const std::vector<std::string>& kinds,
                       const std::vector<int>& edges) {
    for (const std::string& kind : kinds) {
      describe(table).kernels.parse(describe(table).kind_option, kind);
      for (int edge : edges) cells.push_back({table, kind, edge});
    }
  };
  add(StudyTable::kMemory, memory, tiles);
  add(StudyTable::kPartition, partitions, blocks);
  return cells;
}

MatrixShape im2col_shape(int size, int out_channels) {
  constexpr int kChannels = 3, kWindow = 3 * 3;
  return {out_channels, size * size, kChannels * kWindow};
}

StudyKernel<MatrixShape> kernel_of(const GemmCell& cell, const MatrixShape& shape) {
  const TableOfStudy& table = describe(cell.table);
  const MatrixKernel made = table.kernels.parse(table.kind_option, cell.kind)(cell.edge);
  const auto blocks = [](int outputs, int of_a_block) {
    return of_a_block == 0 ? 1U : grid_blocks(outputs, of_a_block);
  };
  StudyKernel<MatrixShape> kernel;
  kernel.name = made.name;
  kernel.function = made.function;
  kernel.threads_x = static_cast<unsigned>(made.threads_x);
  kernel.threads_y = static_cast<unsigned>(made.threads_y);
  kernel.blocks_x = blocks(shape.columns, made.columns);
  kernel.blocks_y = blocks(shape.rows, made.rows);
  if (!made.function)
    kernel.refusal = concat(made.name, " has tiles of 8, 16 and 32, found ", made.threads_x);
  return kernel;
}

std::unique_ptr<Candidate> matrix_candidate(const GemmCell& cell, MatrixTask& task, Stream& stream) {
  const auto run = [kernel = kernel_of(cell, task.shape()), &task](Stream& on) {
    study_enqueue(kernel, task.shape(), task.a(), task.b(), task.output(), on);
  };
  return std::make_unique<TaskCandidate>(concat(cell.kind, " ", cell.edge), task, stream, run);
}

std::unique_ptr<Candidate> cublas_candidate(MatrixTask& task, Stream& stream, size_t& workspace_bytes) {
  const std::shared_ptr<Gemm> gemm = gemm_backend(stream.device().kind).prepare(MathMode::kFp32, stream);
  workspace_bytes = gemm->workspace_bytes();
  return std::make_unique<TaskCandidate>("cublas", task, stream, [gemm, &task](Stream& on) {
    GemmProblem problem;
    problem.m = task.shape().rows;
    problem.ldb = problem.ldc = problem.n = task.shape().columns;
    problem.lda = problem.k = task.shape().inner;
    RunContext context{on, nullptr, nullptr};
    gemm->run(problem, {task.a(), task.b(), task.output()}, task.workspace(), context);
  });
}

ResultRow gemm_row(const GemmCell& cell, int size, int out_channels, int64_t seed) {
  const MatrixShape shape = im2col_shape(size, out_channels);
  const TableOfStudy& table = describe(cell.table);
  ResultRow row;
  row.name = concat(shape.rows, "x", shape.columns, "x", shape.inner);
  row.backend = cell.kind;
  row.math = to_string(MathMode::kFp32);
  row.layout.clear();
  row.study = "a";
  row.labels = {{"table", table.name}, {"size", std::to_string(size)}, {table.kind, cell.kind}};
  row.repro = concat("convbench gemm --sizes ", size, " --out-channels ", out_channels, " --seed ", seed);
  if (cell.kind == "cublas") {
    row.detail = "the vendor's library";
    return row;
  }
  row.labels.emplace_back(table.edge, std::to_string(cell.edge));
  row.published = printed_for(cell, size);
  row.repro += concat(" ", table.kind_option, " ", cell.kind, " ", table.edge_option, " ", cell.edge, " ",
                      table.not_others);
  return row;
}

std::string refusal_of(const GemmCell& cell, const Support& support) {
  // The study printed times only for launches that no GPU can do: its program did not check launch errors.
  constexpr int kSize = 256;  // the smallest of the study's: it printed every cell there
  const std::optional<PublishedFigure> printed = printed_for(cell, kSize);
  if (!printed || cell.kind != "element") return support.reason();
  return concat(support.reason(), ": the study's ", format_fixed(printed->time_ns / 1e6, 4), " ms for ",
                kSize, " x ", kSize,
                " was printed for a launch that failed; the study did not check for errors");
}

void bench_gemm_into(int size, int out_channels, const std::vector<GemmCell>& cells, BenchSession& session) {
  DeviceGuard guard(session.device());
  const int64_t seed = session.options().seed;
  MatrixTask task(im2col_shape(size, out_channels), session.options().fill, static_cast<uint64_t>(seed));
  std::vector<StudyCandidate> candidates;
  const auto add = [&](const GemmCell& cell) -> StudyCandidate& {
    StudyCandidate& candidate = candidates.emplace_back();
    candidate.base = gemm_row(cell, size, out_channels, seed);
    candidate.work = task.work();
    return candidate;
  };
  size_t workspace_bytes = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const GemmCell& cell = cells[i];
    if (i == 0 || cells[i - 1].table != cell.table) {  // the vendor's library before each table
      StudyCandidate& reference = add({cell.table, "cublas", 0});
      const auto refusal = attempt(session.stream(), [&] {
        reference.prepared = cublas_candidate(task, session.stream(), workspace_bytes);
        reference.base.workspace_bytes = static_cast<int64_t>(workspace_bytes);
      });
      if (refusal) reference.refusal = *refusal;
    }
    StudyCandidate& candidate = add(cell);
    const StudyKernel<MatrixShape> kernel = kernel_of(cell, task.shape());
    if (const Support support = study_support(kernel, session.device()); !support) {
      candidate.refusal = {row_status::kUnsupported, ExitCode::kUnavailable, refusal_of(cell, support)};
    } else if (const std::string repeats = repetition(cell, cells, size, out_channels); !repeats.empty()) {
      candidate.refusal = {row_status::kSkipped, ExitCode::kOk, repeats};
    } else {
      candidate.base.launches = {study_launch_resources(kernel)};
      candidate.base.workspace_bytes = 0;
      candidate.prepared = matrix_candidate(cell, task, session.stream());
    }
  }
  bench_study_into(
      std::move(candidates), [&] { task.allocate(session.device(), workspace_bytes); }, session);
}

}  // namespace lenslet
