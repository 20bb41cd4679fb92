// Measures the kernels of a study that is not a network's layer: one group of rivals, one row each and cache state.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/convbench/session.h"

namespace lenslet {

/// One row of a study on its way.
struct StudyEntry {
  ResultRow base;
  Work work;
  std::unique_ptr<Contender> contender;  // null: there is no time, for this reason
  std::string status, reason;            // "UNSUPPORTED", "64 x 64 = 4096 threads a block, …"
};

/// Files the rows of all entries in the session: of the run that is resumed where that has them all, else measured turn
/// by turn once `allocate` has made the memory that the contenders share; what does not fit is SKIPPED with the reason.
/// Throws DeviceError where the device is lost.
void bench_study_into(const std::vector<StudyEntry>& entries, const std::function<void()>& allocate,
                      BenchSession& session);

}  // namespace lenslet
