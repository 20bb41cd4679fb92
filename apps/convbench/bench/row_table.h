// Rows as a table for people.
#pragma once

#include <string>
#include <vector>

#include "apps/common/result_file.h"

namespace lenslet {

/// Medians with spread, rates, share of the ceiling, ratio to cuDNN, workspace, error against its bound; reasons below.
std::string row_table(const std::vector<ResultRow>& rows);

/// "0.83" as text: our time over theirs and the like; "-" where it is not known.
std::string format_ratio(double ratio);

}  // namespace lenslet
