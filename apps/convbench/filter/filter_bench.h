// Measures backends on a filter task, and compares the pictures they make byte by byte.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/filter/filter_task.h"
#include "apps/convbench/session.h"

namespace lenslet {

struct FilterRequest {
  std::vector<ConvCandidate> candidates;
  std::string study;
  std::vector<std::pair<std::string, std::string>> labels;
  std::function<std::optional<PublishedFigure>(const ResultRow&)> published;  // may be empty
  std::string repro;  // the command that measures this again, without backend and layout
};

struct FilterResult {
  std::vector<ResultRow> rows;   // for every candidate and cache state, in order
  std::optional<Image> picture;  // the first that passed; nothing where none did
};

/// Times with and without the copies from and to the host. A backend whose picture is not the first one's is FAILED.
FilterResult bench_filter(FilterTask& task, const FilterRequest& request, BenchSession& session);

/// Study C: noise pictures of these sizes, the edge filter, every backend, channels last where it serves that. Filed in
/// the session.
void filter_study_into(const std::vector<int>& sizes, const std::vector<int>& strides, BenchSession& session);

}  // namespace lenslet
