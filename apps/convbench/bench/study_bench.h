// Measures the candidates of one case in turns: one row per candidate and cache state.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "apps/common/results/attempt.h"
#include "apps/convbench/session/session.h"

namespace lenslet {

/// One candidate, before it is measured.
struct StudyCandidate {
  ResultRow base;
  Work work;
  MathMode math = MathMode::kFp32;
  double saved = 1;                     // products_saved of its rows
  std::unique_ptr<Candidate> prepared;  // null: not measured, for the reason below
  NoResult refusal;                     // UNSUPPORTED, "64 x 64 = 4096 threads per block, …"
};

/// The prepared ones of these, in order.
std::vector<Candidate*> prepared_of(const std::vector<StudyCandidate>& candidates);
/// The rows of all candidates, in order. `measured` has one element for each of prepared_of().
std::vector<ResultRow> rows_of(const std::vector<StudyCandidate>& candidates,
                               const std::vector<Measurement>& measured, const RowContext& context);

/// Adds the rows of all candidates to the session and returns them. Takes them from the resumed file if it has all of
/// them; otherwise `allocate` allocates their shared memory, and they are measured in turns. Candidates that do
/// not fit are SKIPPED with the reason. `finish` may be empty; it completes the measured rows. If the run measures
/// nothing, it ends with a candidate's refusal (Run::refuse). Throws DeviceError if the device is lost.
std::vector<ResultRow> bench_study_into(std::vector<StudyCandidate> candidates,
                                        const std::function<void()>& allocate, BenchSession& session,
                                        const std::function<void(std::vector<ResultRow>&)>& finish = {});

}  // namespace lenslet
