#include "apps/lenslet/bench/bench_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "framework/base/error.h"
#include "framework/execution/plan.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string batch_of(const ResultRow& row) { return format_count(row.images); }

// The first columns of both tables.
RowTable first_columns() {
  const auto label = [](const char* name) {
    return [name](const ResultRow& row) { return or_dash(row.label(name)); };
  };
  const auto backend = [](const ResultRow& row) {
    return row.label("plan") == Plan::kFused ? or_dash(row.backend) : "-";
  };
  RowTable table;
  table.number("batch", batch_of).words("plan", label("plan")).key().words("backend", backend).key();
  table.words("math", &ResultRow::math).key();
  table.words("input", label("input")).key().words("output", label("output")).key();
  return table;
}

std::function<std::string(const ResultRow&)> accuracy_of(int64_t ResultAccuracy::*count) {
  return [count](const ResultRow& row) {
    return row.accuracy ? format_count((*row.accuracy).*count) : std::string("-");
  };
}

// The time of the first stage with one of these names (GPU and CPU differ); NaN without one.
double pass_ns(const ResultRow& row, const std::vector<std::string>& names) {
  for (const auto& [stage, ns] : row.stages_ns) {
    if (std::find(names.begin(), names.end(), stage) != names.end()) return ns;
  }
  return NAN;
}

// The table without UNSUPPORTED rows, then each of their reasons once, with the first batch that it applies to.
void print_rows(Console& console, const RowTable& table, const std::vector<ResultRow>& rows) {
  std::vector<ResultRow> listed;
  std::vector<std::string> printed;
  for (const ResultRow& row : rows) {
    if (row.status != row_status::kUnsupported) listed.push_back(row);
  }
  console.print(table.of(listed, batch_of));
  for (const ResultRow& row : rows) {
    if (row.status != row_status::kUnsupported) continue;
    const std::string about =
        concat(row.status, ": ", row.backend, row.backend.empty() ? "" : ", ", row.math, ": ", row.reason);
    if (std::find(printed.begin(), printed.end(), about) != printed.end()) continue;
    printed.push_back(about);
    console.line(concat("batch ", batch_of(row), ", ", about));
  }
}

}  // namespace

void print_bench(Console& console, const std::vector<ResultRow>& rows) {
  const bool both =
      std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.cache == "cold"; });
  RowTable table = first_columns();
  table.words("place", [](const ResultRow& row) { return row.label("place"); }).key();
  if (both) table.words("cache", &ResultRow::cache).key();
  table.words("status", &ResultRow::status).median("us");
  table.number("images/s", &ResultRow::images_per_s, format_rate).share().nearest_ceiling();
  table.number("correct", accuracy_of(&ResultAccuracy::correct));
  table.number("fp32 correct", accuracy_of(&ResultAccuracy::fp32_correct)).if_it_fits();
  table.number("differ", accuracy_of(&ResultAccuracy::differing)).spread().reason();
  print_rows(console, table, rows);
}

void print_latency(Console& console, const std::vector<ResultRow>& rows) {
  const auto pass = [](std::vector<std::string> names) {
    return [names = std::move(names)](const ResultRow& row) { return pass_ns(row, names); };
  };
  RowTable table = first_columns();
  table.words("mode", [](const ResultRow& row) { return row.label("mode"); }).key();
  table.number("pipelined us", pass({"pipelined", "cpu"}), format_us);
  table.number("in order us", pass({"in_order"}), format_us);
  table.median("wall us").spread().number("p99", &ResultRow::p99_ns, format_us);
  table.words("status", &ResultRow::status).reason();
  print_rows(console, table, rows);
}

}  // namespace lenslet
