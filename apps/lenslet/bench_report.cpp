#include "apps/lenslet/bench_report.h"

#include <algorithm>
#include <cmath>

#include "apps/common/table.h"
#include "apps/common/text.h"
#include "framework/error.h"

namespace lenslet {
namespace {

constexpr auto kLeft = Table::Align::kLeft;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string batch_of(const ResultRow& row) { return format_count(row.images); }

// What the rows of both tables begin with.
std::vector<std::string> first_cells(const ResultRow& row) {
  return {batch_of(row), label_of(row, "plan"),  or_dash(label_of(row, "variant")),
          row.math,      label_of(row, "input"), label_of(row, "output")};
}

void first_columns(Table& table) {
  table.column("batch").column("plan", kLeft).column("variant", kLeft).column("math", kLeft);
  table.column("input", kLeft).column("output", kLeft);
}

std::string accuracy_of(const ResultRow& row) {
  if (!row.accuracy) return "-";
  return concat(format_count(row.accuracy->correct), " (fp32 ", format_count(row.accuracy->fp32_correct),
                ", ", row.accuracy->differing, " differ)");
}

// The stage of that name, or of the other on the CPU; NaN where the row has neither.
double pass_ns(const ResultRow& row, std::initializer_list<const char*> names) {
  for (const auto& [stage, ns] : row.stages_ns) {
    if (std::find(names.begin(), names.end(), stage) != names.end()) return ns;
  }
  return NAN;
}

// Every reason once, with what it is about.
std::string reasons(const std::vector<ResultRow>& rows) {
  std::vector<std::string> told;
  std::string text;
  for (const ResultRow& row : rows) {
    if (row.status == "PASSED" || row.reason.empty()) continue;
    const std::string about =
        concat(row.status, ": ", or_dash(row.backend), ", ", row.math, ": ", printable(row.reason));
    if (std::find(told.begin(), told.end(), about) != told.end()) continue;
    told.push_back(about);
    text += concat("batch ", batch_of(row), ", ", about, "\n");
  }
  return text;
}

}  // namespace

std::string label_of(const ResultRow& row, const std::string& name) {
  for (const auto& [label, text] : row.labels) {
    if (label == name) return text;
  }
  return {};
}

std::string bench_table(const std::vector<ResultRow>& rows) {
  const bool both =
      std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.cache == "cold"; });
  Table table;
  first_columns(table);
  if (both) table.column("cache", kLeft);
  table.column("us").column("p10").column("p90").column("images/s").column("of ceiling");
  table.column("bound by", kLeft).column("accuracy").column("status", kLeft);
  std::string last;
  for (const ResultRow& row : rows) {
    if (row.status == "UNSUPPORTED") continue;  // the reasons below say why
    if (!last.empty() && batch_of(row) != last) table.rule();
    last = batch_of(row);
    const bool timed = row.time.samples > 0;
    std::vector<std::string> cells = first_cells(row);
    if (both) cells.push_back(row.cache);
    for (std::string cell :
         {format_us(timed ? row.time.median : NAN), format_us(timed ? row.time.p10 : NAN),
          format_us(timed ? row.time.p90 : NAN), format_rate(row.images_per_s()),
          format_share(row.ceiling_fraction), or_dash(row.bound_by), accuracy_of(row), row.status}) {
      cells.push_back(std::move(cell));
    }
    table.row(std::move(cells));
  }
  return table.to_string() + reasons(rows);
}

std::string latency_table(const std::vector<ResultRow>& rows) {
  Table table;
  first_columns(table);
  table.column("mode", kLeft)
      .column("pipelined us")
      .column("in order us")
      .column("wall us")
      .column("p10")
      .column("p90")
      .column("p99");
  table.column("status", kLeft);
  std::string last;
  for (const ResultRow& row : rows) {
    if (row.status == "UNSUPPORTED") continue;
    if (!last.empty() && batch_of(row) != last) table.rule();
    last = batch_of(row);
    const bool timed = row.time.samples > 0;
    std::vector<std::string> cells = first_cells(row);
    for (std::string cell : {label_of(row, "mode"), format_us(pass_ns(row, {"pipelined", "cpu"})),
                             format_us(pass_ns(row, {"in_order"})), format_us(timed ? row.time.median : NAN),
                             format_us(timed ? row.time.p10 : NAN), format_us(timed ? row.time.p90 : NAN),
                             format_us(row.p99_ns), row.status}) {
      cells.push_back(std::move(cell));
    }
    table.row(std::move(cells));
  }
  return table.to_string() + reasons(rows);
}

}  // namespace lenslet
