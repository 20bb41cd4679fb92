// convbench gemm: which memory feeds im2col's matrix product, and how it is cut into threads: study A's tables 3 and 4.
#include <algorithm>
#include <set>

#include "apps/common/table.h"
#include "apps/common/text.h"
#include "apps/convbench/bench/row_table.h"
#include "apps/convbench/commands.h"
#include "apps/convbench/gemm_study/gemm_study.h"

namespace lenslet {
namespace {

std::string label_of(const ResultRow& row, const std::string& name) {
  for (const auto& [label, text] : row.labels) {
    if (label == name) return text;
  }
  return {};
}

// cuBLAS's time of the same table, size and cache state.
double reference_ns(const std::vector<ResultRow>& rows, const ResultRow& row) {
  for (const ResultRow& other : rows) {
    const bool same = other.name == row.name && other.cache == row.cache &&
                      label_of(other, "table") == label_of(row, "table");
    if (same && other.backend == "cublas" && other.time.samples > 0) return other.time.median;
  }
  return NAN;
}

void print_table(Console& console, const std::vector<ResultRow>& rows, const std::string& name,
                 const char* edge) {
  Table table;
  const auto left = Table::Align::kLeft;
  table.column("size")
      .column(name == "gemm_memory" ? "memory" : "partition", left)
      .column(edge)
      .column("status", left);
  table.column("us")
      .column("TFLOP/s")
      .column("of ceiling")
      .column("of cuBLAS")
      .column("regs")
      .column("shared");
  table.column("occupancy").column("printed us").column("times faster");
  std::set<std::string> notes;
  for (const ResultRow& row : rows) {
    if (label_of(row, "table") != name || row.cache != rows.front().cache) continue;
    const bool timed = row.time.samples > 0, own = !row.launches.empty();
    const LaunchResources launch = own ? row.launches.front() : LaunchResources{};
    const double printed = row.published ? row.published->time_ns : NAN;
    table.row({label_of(row, "size"), row.backend, label_of(row, edge), row.status,
               timed ? format_us(row.time.median) : "-", format_gflops(row, 1e3),
               format_share(row.ceiling_fraction),
               timed ? format_share(reference_ns(rows, row) / row.time.median) : "-",
               own ? std::to_string(launch.registers_per_thread) : "-",
               own ? format_bytes(static_cast<double>(launch.shared_bytes)) : "-",
               own ? format_share(launch.occupancy) : "-", format_us(printed),
               timed ? format_short(printed / row.time.median) : "-"});
    if (!row.reason.empty()) {
      notes.insert(
          concat("  ", row.backend, " ", label_of(row, edge), ": ", row.status, ", ", printable(row.reason)));
    }
  }
  console.line(concat("\nim2col's matrix product by ",
                      name == "gemm_memory" ? "memory and tile" : "partition and block", ", ",
                      rows.front().cache));
  console.print(table.to_string());
  for (const std::string& note : notes) console.line(note);
}

}  // namespace

void gemm_study_into(const GemmStudyOptions& options, BenchSession& session) {
  const std::vector<GemmCell> cells =
      gemm_cells(options.memory, options.tiles, options.partitions, options.blocks);
  const size_t before = session.rows().size();
  session.begin(static_cast<int64_t>(options.sizes.size()), "gemm");
  for (int size : options.sizes) {
    if (session.stopped()) break;
    bench_gemm_into(size, static_cast<int>(options.out_channels), cells, session);
  }
  const std::vector<ResultRow> rows(session.rows().begin() + static_cast<std::ptrdiff_t>(before),
                                    session.rows().end());
  if (rows.empty()) return;
  for (const auto& [name, edge] : {std::pair{"gemm_memory", "tile"}, std::pair{"gemm_partition", "block"}}) {
    const bool any = std::any_of(rows.begin(), rows.end(), [name = name](const ResultRow& row) {
      return label_of(row, "table") == name;
    });
    if (any) print_table(session.console(), rows, name, edge);
  }
}

ExitCode run_gemm_study(const GemmStudyOptions& options) {
  return with_session(options, "gemm", BenchSession::Needs::kGpu,
                      [&](BenchSession& session) { gemm_study_into(options, session); });
}

}  // namespace lenslet
