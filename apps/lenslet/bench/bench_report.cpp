#include "apps/lenslet/bench/bench_report.h"

#include <algorithm>
#include <cmath>

#include "apps/common/output/text.h"
#include "apps/measuring/row_table.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string batch_of(const ResultRow& row) { return format_count(row.images); }

// The first columns of both tables.
RowTable first_columns() {
  const auto label = [](const char* name) {
    return [name](const ResultRow& row) { return or_dash(row.label(name)); };
  };
  RowTable table;
  table.number("batch", batch_of).words("plan", label("plan")).words("variant", label("variant"));
  table.words("math", &ResultRow::math).words("input", label("input")).words("output", label("output"));
  return table;
}

std::string accuracy_of(const ResultRow& row) {
  if (!row.accuracy) return "-";
  return concat(format_count(row.accuracy->correct), " (fp32 ", format_count(row.accuracy->fp32_correct),
                ", ", row.accuracy->differing, " differ)");
}

// The time of the first stage with one of these names (GPU and CPU differ); NaN without one.
double pass_ns(const ResultRow& row, const std::vector<std::string>& names) {
  for (const auto& [stage, ns] : row.stages_ns) {
    if (std::find(names.begin(), names.end(), stage) != names.end()) return ns;
  }
  return NAN;
}

// The table without UNSUPPORTED rows, then every reason once, with the first batch that it applies to.
std::string shown(const RowTable& table, const std::vector<ResultRow>& rows) {
  std::vector<ResultRow> listed;
  std::vector<std::string> told;
  std::string text;
  for (const ResultRow& row : rows) {
    if (row.status != "UNSUPPORTED") listed.push_back(row);
    if (row.status == "PASSED" || row.reason.empty()) continue;
    const std::string about =
        concat(row.status, ": ", or_dash(row.backend), ", ", row.math, ": ", printable(row.reason));
    if (std::find(told.begin(), told.end(), about) != told.end()) continue;
    told.push_back(about);
    text += concat("batch ", batch_of(row), ", ", about, "\n");
  }
  return table.of(listed, batch_of) + text;
}

}  // namespace

std::string bench_table(const std::vector<ResultRow>& rows) {
  const bool both =
      std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.cache == "cold"; });
  RowTable table = first_columns();
  if (both) table.words("cache", &ResultRow::cache);
  table.times("us").number("images/s", &ResultRow::images_per_s, format_rate).share();
  table.words("bound by", [](const ResultRow& row) { return or_dash(row.bound_by); });
  table.number("accuracy", accuracy_of).words("status", &ResultRow::status);
  return shown(table, rows);
}

std::string latency_table(const std::vector<ResultRow>& rows) {
  const auto pass = [](std::vector<std::string> names) {
    return [names = std::move(names)](const ResultRow& row) { return pass_ns(row, names); };
  };
  RowTable table = first_columns();
  table.words("mode", [](const ResultRow& row) { return row.label("mode"); });
  table.number("pipelined us", pass({"pipelined", "cpu"}), format_us);
  table.number("in order us", pass({"in_order"}), format_us);
  table.times("wall us").number("p99", &ResultRow::p99_ns, format_us).words("status", &ResultRow::status);
  return shown(table, rows);
}

}  // namespace lenslet
