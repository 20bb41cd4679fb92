// convbench stencil: 1D and 2D convolution by where the filter lies and how the input is staged: study E.
#include <algorithm>
#include <set>

#include "apps/common/table.h"
#include "apps/common/text.h"
#include "apps/convbench/bench/row_table.h"
#include "apps/convbench/commands.h"
#include "apps/convbench/stencil/stencil_study.h"

namespace lenslet {
namespace {

std::vector<Stencil> stencils_of(const StencilOptions& options) {
  std::vector<Stencil> stencils;
  for (int dimensions : options.dimensions) {
    Stencil stencil;
    stencil.dimensions = dimensions;
    stencil.height = dimensions == 1 ? 1 : static_cast<int>(options.height);
    stencil.width = static_cast<int>(dimensions == 1 ? options.length : options.width);
    stencil.taps = static_cast<int>(dimensions == 1 ? options.taps : 2 * options.radius + 1);
    stencil.validate();
    stencils.push_back(stencil);
  }
  return stencils;
}

void print_stencil(Console& console, const std::vector<ResultRow>& rows, double copy_bytes_per_s) {
  Table table;
  const auto left = Table::Align::kLeft;
  table.column("filter", left)
      .column("boundary", left)
      .column("status", left)
      .column("us")
      .column("p10")
      .column("p90");
  table.column("GB/s")
      .column("of copying")
      .column("bound by", left)
      .column("regs")
      .column("shared")
      .column("occupancy");
  std::set<std::string> notes;
  for (const ResultRow& row : rows) {
    if (row.cache != rows.front().cache) continue;
    const bool timed = row.time.samples > 0, own = !row.launches.empty();
    const LaunchResources launch = own ? row.launches.front() : LaunchResources{};
    const auto time = [&](double ns) { return timed ? format_us(ns) : std::string("-"); };
    table.row({row.backend, row.labels.back().second, row.status, time(row.time.median), time(row.time.p10),
               time(row.time.p90), format_short(row.gbytes_per_s()),
               format_share(row.gbytes_per_s() * 1e9 / copy_bytes_per_s), row.bound_by,
               own ? std::to_string(launch.registers_per_thread) : "-",
               own ? format_bytes(static_cast<double>(launch.shared_bytes)) : "-",
               own ? format_share(launch.occupancy) : "-"});
    if (!row.reason.empty()) {
      notes.insert(concat("  ", row.backend, " ", row.labels.back().second, ": ", row.status, ", ",
                          printable(row.reason)));
    }
  }
  console.line(
      concat("\n", rows.front().name, ", effective bandwidth: input and output once, ", rows.front().cache));
  console.print(table.to_string());
  for (const std::string& note : notes) console.line(note);
}

}  // namespace

void stencil_into(const StencilOptions& options, BenchSession& session) {
  const std::vector<Stencil> stencils = stencils_of(options);
  const std::vector<StencilCell> cells = stencil_cells(options.filters, options.boundaries);
  session.begin(static_cast<int64_t>(stencils.size()), "stencil");
  for (const Stencil& stencil : stencils) {
    if (session.stopped()) break;
    const size_t before = session.rows().size();
    bench_stencil_into(stencil, cells, session);
    print_stencil(session.console(),
                  {session.rows().begin() + static_cast<std::ptrdiff_t>(before), session.rows().end()},
                  session.ceilings().copy_bytes_per_s);
  }
}

ExitCode run_stencil(const StencilOptions& options) {
  stencils_of(options);
  stencil_cells(options.filters, options.boundaries);
  return with_session(options, "stencil", BenchSession::Needs::kGpu,
                      [&](BenchSession& session) { stencil_into(options, session); });
}

}  // namespace lenslet
