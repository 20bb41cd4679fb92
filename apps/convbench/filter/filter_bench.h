// A filter task as a problem that backends are measured on, and study C. What backends make of one picture is compared
// byte by byte.
#pragma once

#include <optional>
#include <vector>

#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/filter/filter_task.h"
#include "apps/convbench/session.h"

namespace lenslet {

/// Asks for rows of the task, with and without the copies from and to the host, on candidates that are still to be
/// named. A backend whose picture is not the first one's is FAILED; `picture` becomes the first that passed and stays
/// empty where none did. Both must outlive the request.
ConvBenchRequest filter_request(FilterTask& task, std::optional<Image>& picture);

/// Study C: noise pictures of these sizes, the edge filter, every backend, channels last where it serves that. Filed in
/// the session.
void filter_study_into(const std::vector<int>& sizes, const std::vector<int>& strides, BenchSession& session);

}  // namespace lenslet
