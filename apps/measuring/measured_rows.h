// Result rows from what was measured.
#pragma once

#include <string>
#include <vector>

#include "apps/common/ceilings.h"
#include "apps/common/result_file.h"
#include "apps/measuring/measure.h"
#include "framework/layer.h"

namespace lenslet {

/// Which cache states get a row, and what the rows are judged by.
struct RowContext {
  bool hot = true, cold = true;
  const Ceilings* ceilings = nullptr;  // null: no share of a ceiling
};

/// Rows from a measurement: one for hot, one for cold, as far as asked for, from what `base` already says.
std::vector<ResultRow> rows_of(const ResultRow& base, const Measurement& measured, const RowContext& context,
                               const Work& work, MathMode math, double saved = 1);

/// Rows that have no time, with the reason.
std::vector<ResultRow> rows_without_time(const ResultRow& base, const std::string& status,
                                         const std::string& reason, const RowContext& context);

}  // namespace lenslet
