#include "apps/convbench/bench/study_bench.h"

#include <iterator>

namespace lenslet {
namespace {

void append(std::vector<ResultRow>& rows, std::vector<ResultRow> some) {
  rows.insert(rows.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
}

/// The rows of the resumed file; empty if it lacks a row of a prepared candidate.
std::vector<ResultRow> earlier_rows(const std::vector<StudyCandidate>& candidates,
                                    const BenchSession& session) {
  const RowContext context = session.row_context();
  std::vector<ResultRow> rows, wanted;
  for (const StudyCandidate& candidate : candidates) {
    if (candidate.prepared) append(wanted, rows_without_time(candidate.base, "", "", context));
  }
  const std::vector<ResultRow> earlier = session.resumed(wanted);
  if (earlier.empty()) return {};
  auto next = earlier.begin();
  for (const StudyCandidate& candidate : candidates) {
    std::vector<ResultRow> some =
        rows_without_time(candidate.base, candidate.refusal.status, candidate.refusal.reason, context);
    if (candidate.prepared) {
      for (ResultRow& row : some) row = *next++;
    }
    append(rows, std::move(some));
  }
  return rows;
}

}  // namespace

std::vector<Candidate*> prepared_of(const std::vector<StudyCandidate>& candidates) {
  std::vector<Candidate*> prepared;
  for (const StudyCandidate& candidate : candidates) {
    if (candidate.prepared) prepared.push_back(candidate.prepared.get());
  }
  return prepared;
}

std::vector<ResultRow> rows_of(const std::vector<StudyCandidate>& candidates,
                               const std::vector<Measurement>& measured, const RowContext& context) {
  std::vector<ResultRow> rows;
  auto next = measured.begin();
  for (const StudyCandidate& candidate : candidates) {
    append(rows, candidate.prepared ? rows_of(candidate.base, *next++, context, candidate.work,
                                              candidate.math, candidate.saved)
                                    : rows_without_time(candidate.base, candidate.refusal.status,
                                                        candidate.refusal.reason, context));
  }
  return rows;
}

std::vector<ResultRow> bench_study_into(std::vector<StudyCandidate> candidates,
                                        const std::function<void()>& allocate, BenchSession& session,
                                        const std::function<void(std::vector<ResultRow>&)>& finish) {
  std::vector<ResultRow> rows = earlier_rows(candidates, session);
  if (rows.empty()) {
    DeviceGuard guard(session.device());
    if (const std::optional<NoResult> no_memory = attempt(session.stream(), allocate)) {
      for (StudyCandidate& candidate : candidates) {
        if (!std::exchange(candidate.prepared, nullptr)) continue;
        candidate.refusal = *no_memory;
      }
    }
    rows = rows_of(candidates, measure(prepared_of(candidates), session.stream(), session.measure_options()),
                   session.row_context());
    if (finish) finish(rows);
  }
  for (const StudyCandidate& candidate : candidates) {
    // Without a code it is no refusal: a cell that repeats another is SKIPPED, too.
    const NoResult& refusal = candidate.refusal;
    if (refusal.code != ExitCode::kOk) session.refuse({}, refusal.code, refusal.reason);
  }
  session.add(rows);
  return rows;
}

}  // namespace lenslet
