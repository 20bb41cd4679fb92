// Times a batch divided over 1, 2 or more streams. The numbers of streams are timed in turns, and each is verified.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/convbench/session/session.h"
#include "apps/convbench/streams/pipeline.h"

namespace lenslet {

struct StreamsRequest {
  std::string backend;                       // the backend's name, for messages
  std::function<const ConvBackend&()> open;  // throws UnavailableError with the reason
  Conv2dProblem part;
  int parts = 1;
  std::vector<int> streams;  // one row each
  std::function<ResultRow(int streams)> base;
  std::function<void(Pipeline&)> after;  // called after all are measured; may be empty
};

/// One row per number of streams: the whole batch by the host's clock, and its three steps alone by events. Each lane
/// must pass the checks of every candidate (apps/measuring/candidate_checks.h), before and after, and so must each pass
/// from host to host. The timed passes are verified too. Throws DeviceError if the device is lost.
std::vector<ResultRow> bench_streams(const StreamsRequest& request, BenchSession& session);

}  // namespace lenslet
