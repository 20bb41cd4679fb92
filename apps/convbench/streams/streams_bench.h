// Times a batch in parts over several numbers of streams, turn by turn, and believes none of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/convbench/session.h"
#include "apps/convbench/streams/pipeline.h"

namespace lenslet {

struct StreamsRequest {
  std::string backend;                       // by name, for messages
  std::function<const ConvBackend&()> open;  // throws UnavailableError with the reason
  Conv2dProblem part;
  int parts = 1;
  std::vector<int> streams;  // a row each
  std::function<ResultRow(int streams)> base;
  std::function<void(Pipeline&)> after;  // called when all is measured; may be empty
};

/// A row for each number of streams: the host's time of the whole batch, and the three kinds of parts alone by events.
/// Each lane passes what every contender has to (apps/measuring/distrust.h), before and after; so does each way from
/// host to host, whose timed passes are judged as well. Throws DeviceError where the device is lost.
std::vector<ResultRow> bench_streams(const StreamsRequest& request, BenchSession& session);

}  // namespace lenslet
