#include "apps/convbench/gemm_study/gemm_study.h"

#include <algorithm>

#include "apps/common/attempt.h"
#include "apps/common/text.h"
#include "apps/convbench/published.h"
#include "framework/error.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

/// What the contenders of a task share.
class TaskContender : public Contender {
 public:
  TaskContender(std::string name, MatrixTask& task, Stream& stream)
      : name_(std::move(name)), task_(task), stream_(stream) {}
  std::string name() const override { return name_; }
  void load(int round, Stream& stream) override { task_.load(round, stream); }
  float* output() override { return task_.args().c; }
  size_t output_count() const override { return task_.output_count(); }
  Verdict judge(int round, const std::vector<float>& output) override {
    return task_.judge(round, output, stream_);
  }

 protected:
  std::string name_;
  MatrixTask& task_;
  Stream& stream_;
};

class KernelContender : public TaskContender {
 public:
  KernelContender(const GemmCell& cell, MatrixTask& task, Stream& stream)
      : TaskContender(concat(cell.kind, " ", cell.edge), task, stream), kernel_(kernel_of(cell)) {}
  void run(Stream& stream) override { matrix_enqueue(kernel_, task_.args(), stream); }

 private:
  MatrixKernel kernel_;
};

class LibraryContender : public TaskContender {
 public:
  LibraryContender(MatrixTask& task, Stream& stream)
      : TaskContender("cublas", task, stream),
        gemm_(gemm_provider(stream.device().kind).prepare(MathMode::kFp32, stream)) {}
  void run(Stream& stream) override {
    const MatrixArgs args = task_.args();
    GemmProblem problem;
    problem.m = args.shape.rows;
    problem.n = args.shape.columns;
    problem.k = args.shape.inner;
    problem.lda = args.shape.inner;
    problem.ldb = problem.ldc = args.shape.columns;
    RunContext context{stream, nullptr, nullptr};
    gemm_->run(problem, {args.a, args.b, args.c}, task_.workspace(), context);
  }
  size_t workspace_bytes() const { return gemm_->workspace_bytes(); }

 private:
  std::unique_ptr<Gemm> gemm_;
};

const char* table_name(const GemmCell& cell) {
  return cell.table == GemmCell::Table::kMemory ? "gemm_memory" : "gemm_partition";
}
const char* kind_name(const GemmCell& cell) {
  return cell.table == GemmCell::Table::kMemory ? "memory" : "partition";
}

std::optional<PublishedFigure> printed_for(const GemmCell& cell, int size) {
  return cell.table == GemmCell::Table::kMemory ? published_gemm_memory(cell.kind, size, cell.edge)
                                                : published_gemm_partition(cell.kind, size, cell.edge);
}

void demand_known(const char* option, const std::vector<std::string>& names,
                  const std::vector<std::string>& known) {
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UsageError(
        concat(option, " accepts ", comma_list(known), " and none, found '", printable(name), "'"));
  }
}

/// Why a row is not measured again: partitions by row whose block covers all rows are the same launch, apart from
/// threads that exit at once. At sizes where a run takes seconds, the first of them is measured; else empty.
std::string repetition(const GemmCell& cell, const std::vector<GemmCell>& cells, int size, int out_channels) {
  constexpr int kSlow = 2048;
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

/// The cuBLAS row of one table.
ResultRow reference_row(GemmCell::Table table, int size, int out_channels, int64_t seed) {
  ResultRow row = gemm_row({table, "cublas", 0}, size, out_channels, seed);
  row.detail = "the vendor's library";
  return row;
}

}  // namespace

const std::vector<std::string>& gemm_memory_modes() {
  static const std::vector<std::string> names = {"global", "shared", "register"};
  return names;
}

const std::vector<std::string>& gemm_partitions() {
  static const std::vector<std::string> names = {"row", "column", "element"};
  return names;
}

std::vector<GemmCell> gemm_cells(const std::vector<std::string>& memory, const std::vector<int>& tiles,
                                 const std::vector<std::string>& partitions, const std::vector<int>& blocks) {
  demand_known("--memory", memory, gemm_memory_modes());
  demand_known("--partition", partitions, gemm_partitions());
  std::vector<GemmCell> cells;
  for (const std::string& kind : memory) {
    for (int tile : tiles) cells.push_back({GemmCell::Table::kMemory, kind, tile});
  }
  for (const std::string& kind : partitions) {
    for (int block : blocks) cells.push_back({GemmCell::Table::kPartition, kind, block});
  }
  return cells;
}

MatrixShape im2col_shape(int size, int out_channels) {
  constexpr int kChannels = 3, kWindow = 3 * 3;
  return {out_channels, size * size, kChannels * kWindow};
}

MatrixKernel kernel_of(const GemmCell& cell) {
  if (cell.kind == "shared") return matrix_shared(cell.edge);
  if (cell.kind == "register") return matrix_register(cell.edge);
  if (cell.kind == "row") return matrix_row(cell.edge);
  if (cell.kind == "column") return matrix_column(cell.edge);
  return matrix_element(cell.edge);  // "global" and "element" are the same kernel
}

std::unique_ptr<Contender> matrix_contender(const GemmCell& cell, MatrixTask& task, Stream& stream) {
  return std::make_unique<KernelContender>(cell, task, stream);
}

std::unique_ptr<Contender> cublas_contender(MatrixTask& task, Stream& stream, size_t& workspace_bytes) {
  auto contender = std::make_unique<LibraryContender>(task, stream);
  workspace_bytes = contender->workspace_bytes();
  return contender;
}

ResultRow gemm_row(const GemmCell& cell, int size, int out_channels, int64_t seed) {
  const MatrixShape shape = im2col_shape(size, out_channels);
  const bool memory = cell.table == GemmCell::Table::kMemory;
  const bool library = cell.kind == "cublas";
  ResultRow row;
  row.name = concat(shape.rows, "x", shape.columns, "x", shape.inner);
  row.backend = cell.kind;
  row.math = to_string(MathMode::kFp32);
  row.layout.clear();
  row.study = "a";
  row.labels = {{"table", table_name(cell)}, {"size", std::to_string(size)}, {kind_name(cell), cell.kind}};
  if (!library) {
    row.labels.emplace_back(memory ? "tile" : "block", std::to_string(cell.edge));
    row.published = printed_for(cell, size);
  }
  row.repro = concat("convbench gemm --sizes ", size, " --out-channels ", out_channels, " --seed ", seed);
  if (!library) {
    row.repro += memory ? concat(" --memory ", cell.kind, " --tiles ", cell.edge, " --partition none")
                        : concat(" --partition ", cell.kind, " --blocks ", cell.edge, " --memory none");
  }
  return row;
}

std::string refusal_of(const GemmCell& cell, const Support& support) {
  // The study printed times only for launches that no card can do: its program did not check launch errors.
  const std::optional<PublishedFigure> printed = printed_for(cell, 256);
  if (!printed || cell.kind != "element") return support.reason();
  return concat(support.reason(), ": the study's ", format_fixed(printed->time_ns / 1e6, 4),
                " ms for 256 x 256 is a kernel that never launched, its error unread");
}

void bench_gemm_into(int size, int out_channels, const std::vector<GemmCell>& cells, BenchSession& session) {
  DeviceGuard guard(session.device());
  const int64_t seed = session.options().seed;
  MatrixTask task(im2col_shape(size, out_channels), session.options().fill, static_cast<uint64_t>(seed));
  std::vector<StudyEntry> entries;
  const auto has = [&](GemmCell::Table table) {
    return std::any_of(cells.begin(), cells.end(), [&](const GemmCell& cell) { return cell.table == table; });
  };
  const auto add = [&](ResultRow row) -> StudyEntry& {
    entries.emplace_back();
    entries.back().base = std::move(row);
    entries.back().work = {task.flops(), task.bytes()};
    return entries.back();
  };
  size_t workspace_bytes = 0;
  for (const GemmCell::Table table : {GemmCell::Table::kMemory, GemmCell::Table::kPartition}) {
    if (!has(table)) continue;
    StudyEntry& reference = add(reference_row(table, size, out_channels, seed));
    attempt(reference, session.stream(), [&] {
      reference.contender = cublas_contender(task, session.stream(), workspace_bytes);
      reference.base.workspace_bytes = static_cast<int64_t>(workspace_bytes);
    });
    for (const GemmCell& cell : cells) {
      if (cell.table != table) continue;
      StudyEntry& entry = add(gemm_row(cell, size, out_channels, seed));
      const MatrixKernel kernel = kernel_of(cell);
      if (const Support support = matrix_support(kernel, session.device()); !support) {
        entry.status = "UNSUPPORTED";
        entry.reason = refusal_of(cell, support);
        continue;
      }
      if (const std::string repeats = repetition(cell, cells, size, out_channels); !repeats.empty()) {
        entry.status = "SKIPPED";
        entry.reason = repeats;
        continue;
      }
      entry.base.launches = {matrix_launch_resources(kernel)};
      entry.base.workspace_bytes = 0;
      entry.contender = matrix_contender(cell, task, session.stream());
    }
  }
  bench_study_into(
      entries, [&] { task.allocate(session.device(), workspace_bytes); }, session);
}

}  // namespace lenslet
