#include "apps/convbench/bench/row_table.h"

#include <cmath>
#include <set>

#include "apps/common/table.h"
#include "apps/common/text.h"
#include "framework/error.h"

namespace lenslet {

std::string format_ratio(double ratio) { return std::isfinite(ratio) ? format_fixed(ratio, 2) : "-"; }

std::string row_table(const std::vector<ResultRow>& rows) {
  Table table;
  const auto left = Table::Align::kLeft;
  table.column("backend", left).column("math", left).column("layout", left).column("cache", left);
  table.column("status", left)
      .column("median us")
      .column("p10")
      .column("p90")
      .column("GFLOP/s")
      .column("GB/s");
  table.column("of ceiling")
      .column("bound by", left)
      .column("x cuDNN")
      .column("with copies us")
      .column("workspace")
      .column("max error");
  table.column("allowed").column("chosen inside", left);
  std::vector<std::string> notes;
  std::set<std::string> told;
  for (const ResultRow& row : rows) {
    const bool timed = row.time.samples > 0;
    const auto number = [&](double value) { return timed ? format_us(value) : std::string("-"); };
    table.row({row.backend, row.math, row.layout, row.cache, row.status, number(row.time.median),
               number(row.time.p10), number(row.time.p90), format_gflops(row),
               format_short(row.gbytes_per_s()), format_share(row.ceiling_fraction), row.bound_by,
               format_ratio(row.ratio_to_cudnn),
               row.end_to_end.samples > 0 ? format_us(row.end_to_end.median) : "-",
               row.workspace_bytes ? format_bytes(static_cast<double>(*row.workspace_bytes)) : "-",
               row.error ? format_short(row.error->max_abs) : "-",
               row.error ? format_short(row.error->bound) : "-", printable(row.detail)});
    if (row.reason.empty()) continue;
    const std::string note = concat("  ", row.backend, row.layout.empty() ? "" : " " + row.layout, ": ",
                                    row.status, ", ", printable(row.reason));
    if (told.insert(note).second) notes.push_back(note);
  }
  std::string text = table.to_string();
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

}  // namespace lenslet
