// Converts measurements to result rows.
#pragma once

#include <string>
#include <vector>

#include "apps/common/ceilings/ceilings.h"
#include "apps/common/results/result_file.h"
#include "apps/measuring/measure.h"
#include "framework/graph/layer.h"

namespace lenslet {

/// Which cache states get a row, and the ceilings for comparison.
struct RowContext {
  bool hot = true, cold = true;
  const Ceilings* ceilings = nullptr;  // null: rows have no share of a ceiling
};

/// One row for hot and one for cold, as far as requested, based on `base`.
std::vector<ResultRow> rows_of(const ResultRow& base, const Measurement& measured, const RowContext& context,
                               const Work& work, MathMode math, double saved = 1);

/// Rows without a time, with the reason.
std::vector<ResultRow> rows_without_time(const ResultRow& base, const std::string& status,
                                         const std::string& reason, const RowContext& context);

}  // namespace lenslet
