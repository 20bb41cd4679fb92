// convbench gemm: the matrix product of im2col by memory mode and by partition into threads: tables 3 and 4 of study A.
#include <cmath>
#include <string>
#include <vector>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"
#include "apps/convbench/gemm_study/gemm_study.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

// cuBLAS's time for the same table, size and cache state.
double reference_ns(const std::vector<ResultRow>& rows, const ResultRow& row) {
  for (const ResultRow& other : rows) {
    const bool same =
        other.name == row.name && other.cache == row.cache && other.label("table") == row.label("table");
    if (same && other.backend == "cublas" && other.time.samples > 0) return other.time.median;
  }
  return NAN;
}

void print_table(Console& console, const std::vector<ResultRow>& all, const std::string& name,
                 const char* edge) {
  std::vector<ResultRow> rows;  // of that table, in the first row's cache state
  for (const ResultRow& row : all) {
    if (row.label("table") == name && row.cache == all.front().cache) rows.push_back(row);
  }
  if (rows.empty()) return;
  const auto printed_ns = [](const ResultRow& row) { return row.published ? row.published->time_ns : NAN; };
  RowTable table;
  table.number("size", [](const ResultRow& row) { return row.label("size"); });
  table.words(name == "gemm_memory" ? "memory mode" : "partition", &ResultRow::backend).key();
  table.number(edge, [&](const ResultRow& row) { return row.label(edge); }).key();
  table.words("status", &ResultRow::status).number("us", median_ns, format_us);
  table.number("TFLOP/s", [](const ResultRow& row) { return format_gflops(row, 1e3); }).share();
  table.number(
      "of cuBLAS", [&](const ResultRow& row) { return reference_ns(all, row) / median_ns(row); },
      format_share);
  table.launch().number("printed us", printed_ns, format_us);
  table.number(
      "times faster", [&](const ResultRow& row) { return printed_ns(row) / median_ns(row); }, format_short);
  console.line(concat("\nim2col's matrix product by ",
                      name == "gemm_memory" ? "memory and tile" : "partition and block", ", ",
                      rows.front().cache));
  console.print(table.reason().of(rows));
}

}  // namespace

void print_gemm_study(Console& console, const std::vector<ResultRow>& rows) {
  print_table(console, rows, "gemm_memory", "tile");
  print_table(console, rows, "gemm_partition", "block");
}

void gemm_study_into(const GemmStudyOptions& options, BenchSession& session) {
  const std::vector<GemmCell> cells =
      gemm_cells(options.memory, options.tiles, options.partitions, options.blocks);
  const std::vector<ResultRow> rows = session.each("gemm", options.sizes, [&](int size) {
    bench_gemm_into(size, static_cast<int>(options.out_channels), cells, session);
  });
  print_gemm_study(session.console(), rows);
}

ExitCode run_gemm_study(const GemmStudyOptions& options) {
  return with_session(options, "gemm", BenchSession::Needs::kGpu,
                      [&](BenchSession& session) { gemm_study_into(options, session); });
}

}  // namespace lenslet
