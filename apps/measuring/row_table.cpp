#include "apps/measuring/row_table.h"

#include <cmath>
#include <set>

#include "apps/common/output/text.h"
#include "framework/base/error.h"

namespace lenslet {

template <>
RowTable& RowTable::with_copies() {
  return number("with copies us", end_to_end_ns, format_us);
}
template <>
RowTable& RowTable::share() {
  return number("of ceiling", &ResultRow::ceiling_fraction, format_share);
}
template <>
RowTable& RowTable::bound_by() {
  return words("bound by", &ResultRow::bound_by);
}

template <>
RowTable& RowTable::launch() {
  const auto of_launch = [this](const char* title, std::string (*show)(const LaunchResources&)) {
    number(title, [show](const ResultRow& row) {
      return row.launches.empty() ? std::string("-") : show(row.launches.front());
    });
  };
  of_launch("regs",
            [](const LaunchResources& launch) { return std::to_string(launch.registers_per_thread); });
  of_launch("shared", [](const LaunchResources& launch) {
    return format_bytes(static_cast<double>(launch.shared_bytes));
  });
  of_launch("occupancy", [](const LaunchResources& launch) { return format_share(launch.occupancy); });
  return *this;
}

double median_ns(const ResultRow& row) { return row.time.samples > 0 ? row.time.median : NAN; }
double end_to_end_ns(const ResultRow& row) {
  return row.end_to_end.samples > 0 ? row.end_to_end.median : NAN;
}

std::string row_notes(const std::vector<ResultRow>& rows, const RowTable::Words& about) {
  std::set<std::string> told;
  std::string text;
  for (const ResultRow& row : rows) {
    if (row.reason.empty()) continue;
    const std::string note = concat("  ", about(row), ": ", row.status, ", ", printable(row.reason), "\n");
    if (told.insert(note).second) text += note;
  }
  return text;
}

std::string format_ratio(double ratio) { return std::isfinite(ratio) ? format_fixed(ratio, 2) : "-"; }

std::string row_table(const std::vector<ResultRow>& rows) {
  const auto error = [](double ResultError::*which) {
    return [which](const ResultRow& row) { return row.error ? (*row.error).*which : NAN; };
  };
  const auto workspace = [](const ResultRow& row) {
    return row.workspace_bytes ? static_cast<double>(*row.workspace_bytes) : NAN;
  };
  RowTable table;
  table.words("backend", &ResultRow::backend).words("math", &ResultRow::math);
  table.words("layout", &ResultRow::layout).words("cache", &ResultRow::cache);
  table.words("status", &ResultRow::status).times();
  table.number("GFLOP/s", [](const ResultRow& row) { return format_gflops(row); });
  table.number("GB/s", &ResultRow::gbytes_per_s, format_short).share().bound_by();
  table.number("x cuDNN", &ResultRow::ratio_to_cudnn, format_ratio).with_copies();
  table.number("workspace", workspace, format_bytes);
  table.number("max error", error(&ResultError::max_abs), format_short);
  table.number("allowed", error(&ResultError::bound), format_short);
  table.words("chosen inside", &ResultRow::detail);
  return table.of(rows) + row_notes(rows, [](const ResultRow& row) {
           return concat(row.backend, row.layout.empty() ? "" : " " + row.layout);
         });
}

}  // namespace lenslet
