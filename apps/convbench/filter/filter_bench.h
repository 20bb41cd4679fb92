// Filter tasks as problems that backends are measured on, and study C. The backends' pictures are compared byte by
// byte.
#pragma once

#include <optional>
#include <vector>

#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/filter/filter_task.h"
#include "apps/convbench/session/session.h"

namespace lenslet {

/// A request for rows of the task with and without copies from and to the host; the caller adds the candidates. A
/// backend whose picture differs from the first one's is FAILED. `picture` becomes the first that passed, and stays
/// empty without one. Both arguments must outlive the request.
ConvBenchRequest filter_request(FilterTask& task, std::optional<Picture>& picture);

/// Study C: noise pictures of these sizes, the edge filter, every backend, in NHWC if the backend supports it. The rows
/// are added to the session.
void filter_study_into(const std::vector<int>& sizes, const std::vector<int>& strides, BenchSession& session);

}  // namespace lenslet
