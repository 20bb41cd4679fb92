// convbench stencil: 1D and 2D convolution by the memory of the filter and the staging of the input: study E.
#include <algorithm>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"
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
    stencil.check();
    stencils.push_back(stencil);
  }
  return stencils;
}

}  // namespace

void print_stencil(Console& console, std::vector<ResultRow> rows, double copy_bytes_per_s) {
  if (rows.empty()) return;
  const std::string cache = rows.front().cache;
  rows.erase(
      std::remove_if(rows.begin(), rows.end(), [&](const ResultRow& row) { return row.cache != cache; }),
      rows.end());
  const auto of_copying = [&](const ResultRow& row) { return row.gbytes_per_s() * 1e9 / copy_bytes_per_s; };
  const auto boundary = [](const ResultRow& row) { return row.label("boundary"); };
  RowTable table;
  table.words("filter", &ResultRow::backend).words("boundary", boundary).key();
  table.words("status", &ResultRow::status);
  table.median("us").number("GB/s", &ResultRow::gbytes_per_s, format_short);
  table.number("of copying", of_copying, format_share).nearest_ceiling().spread().launch();
  console.line(concat("\n", rows.front().name, ", effective bandwidth: input and output once, ", cache));
  console.print(table.reason().of(rows));
}

void stencil_into(const StencilOptions& options, BenchSession& session) {
  const std::vector<Stencil> stencils = stencils_of(options);
  const std::vector<StencilCell> cells = stencil_cells(options.filters, options.boundaries);
  session.each("stencil", stencils, [&](const Stencil& stencil) {
    const std::vector<ResultRow> rows = bench_stencil_into(stencil, cells, session);
    print_stencil(session.console(), rows, session.ceilings().copy_bytes_per_s);
  });
}

ExitCode run_stencil(const StencilOptions& options) {
  stencils_of(options);
  stencil_cells(options.filters, options.boundaries);
  return with_session(options, "stencil", BenchSession::Needs::kGpu,
                      [&](BenchSession& session) { stencil_into(options, session); });
}

}  // namespace lenslet
