#include "apps/measuring/measured_rows.h"

#include "framework/base/text.h"

namespace lenslet {

std::vector<ResultRow> rows_of(const ResultRow& base, const Measurement& measured, const RowContext& context,
                               const Work& work, MathMode math, double saved) {
  std::vector<ResultRow> rows;
  for (const bool hot : {true, false}) {
    if (!(hot ? context.hot : context.cold)) continue;
    ResultRow row = base;
    row.cache = hot ? "hot" : "cold";
    row.status = measured.status;
    if (!measured.reason.empty()) row.reason = measured.reason;
    add_clause(row.reason, measured.noise);
    add_clause(row.reason, measured.note);
    row.time = hot ? measured.hot : measured.cold;
    row.replayed = hot && measured.replayed;
    row.end_to_end = measured.end_to_end;
    row.flops = work.flops;
    row.bytes_ideal = work.bytes;
    row.products_saved = saved;
    row.error = measured.error;
    row.first_call_ns = measured.first_call_ns;
    if (row.time.samples > 0 && context.ceilings) apply_ceiling(row, *context.ceilings, work, math);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ResultRow> rows_without_time(const ResultRow& base, const std::string& status,
                                         const std::string& reason, const RowContext& context) {
  Measurement nothing;
  nothing.status = status;
  nothing.reason = reason;
  return rows_of(base, nothing, context, {NAN, NAN}, MathMode::kFp32);
}

}  // namespace lenslet
