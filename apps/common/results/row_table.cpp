#include "apps/common/results/row_table.h"

#include <algorithm>
#include <cmath>

#include "apps/common/output/text.h"
#include "framework/base/error.h"

namespace lenslet {

template <>
RowTable& RowTable::with_copies() {
  return number("us with copies", end_to_end_ns, format_us);
}
template <>
RowTable& RowTable::share() {
  return number("of ceiling", &ResultRow::ceiling_fraction, format_share);
}
template <>
RowTable& RowTable::nearest_ceiling() {
  return words("nearest ceiling", &ResultRow::bound_by);
}
template <>
RowTable& RowTable::reason() {
  return note("reason", [](const ResultRow& row) { return row.reason; });
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

std::string format_ratio(double ratio) { return std::isfinite(ratio) ? format_fixed(ratio, 2) : "-"; }

Table row_table(const std::vector<ResultRow>& rows) {
  const auto error = [](double ResultError::*which) {
    return [which](const ResultRow& row) { return row.error ? (*row.error).*which : NAN; };
  };
  const auto workspace = [](const ResultRow& row) {
    return row.workspace_bytes ? static_cast<double>(*row.workspace_bytes) : NAN;
  };
  RowTable table;
  table.words("backend", &ResultRow::backend);
  // fp32 tensors are what most rows have: their column would be noise.
  if (std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.dt != "fp32"; }))
    table.words("dt", &ResultRow::dt).key();
  table.words("math", &ResultRow::math).key();
  table.words("layout", &ResultRow::layout).key().words("cache", &ResultRow::cache).key();
  table.words("status", &ResultRow::status).median();
  table.number("GFLOP/s", [](const ResultRow& row) { return format_gflops(row); });
  table.share().nearest_ceiling().number("x cuDNN", &ResultRow::ratio_to_cudnn, format_ratio);
  table.with_copies().if_it_fits().spread();
  table.number("GB/s", &ResultRow::gbytes_per_s, format_short).if_it_fits();
  table.number("workspace", workspace, format_bytes).if_it_fits();
  table.number("max error", error(&ResultError::max_abs), format_short).if_it_fits();
  table.number("allowed", error(&ResultError::bound), format_short).if_it_fits();
  table.reason().note("implementation", [](const ResultRow& row) { return row.detail; });
  return table.of(rows);
}

}  // namespace lenslet
