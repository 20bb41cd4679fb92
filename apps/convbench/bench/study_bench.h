// Measures the kernels of a study outside a network: one group of candidates, one row per kernel and cache state.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/convbench/session.h"

namespace lenslet {

/// One row of a study, before it is measured.
struct StudyEntry {
  ResultRow base;
  Work work;
  std::unique_ptr<Contender> contender;  // null: not measured, for the reason below
  std::string status, reason;            // "UNSUPPORTED", "64 x 64 = 4096 threads a block, …"
};

/// Adds the rows of all entries to the session. Takes them from the resumed file if it has all of them; otherwise
/// `allocate` allocates the contenders' shared memory, and they are measured in turns. Entries that do not fit are
/// SKIPPED with the reason. Throws DeviceError if the device is lost.
void bench_study_into(const std::vector<StudyEntry>& entries, const std::function<void()>& allocate,
                      BenchSession& session);

}  // namespace lenslet
