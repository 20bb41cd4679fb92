#include "apps/convbench/bench/study_bench.h"

#include <algorithm>
#include <iterator>

#include "apps/common/attempt.h"

namespace lenslet {
namespace {

void append(std::vector<ResultRow>& rows, std::vector<ResultRow> some) {
  rows.insert(rows.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
}

/// The rows of the resumed file; empty if it lacks a row of an entry with a contender.
std::vector<ResultRow> earlier_rows(const std::vector<StudyEntry>& entries, const BenchSession& session) {
  const RowContext context = session.row_context();
  std::vector<ResultRow> rows, wanted;
  for (const StudyEntry& entry : entries) {
    if (entry.contender) append(wanted, rows_without_time(entry.base, "", "", context));
  }
  const std::vector<ResultRow> earlier = session.resumed(wanted);
  if (earlier.empty()) return {};
  auto next = earlier.begin();
  for (const StudyEntry& entry : entries) {
    std::vector<ResultRow> some = rows_without_time(entry.base, entry.status, entry.reason, context);
    if (entry.contender) {
      for (ResultRow& row : some) row = *next++;
    }
    append(rows, std::move(some));
  }
  return rows;
}

}  // namespace

std::vector<Contender*> contenders_of(const std::vector<StudyEntry>& entries) {
  std::vector<Contender*> contenders;
  for (const StudyEntry& entry : entries) {
    if (entry.contender) contenders.push_back(entry.contender.get());
  }
  return contenders;
}

std::vector<ResultRow> rows_of(const std::vector<StudyEntry>& entries,
                               const std::vector<Measurement>& measured, const RowContext& context) {
  std::vector<ResultRow> rows;
  auto next = measured.begin();
  for (const StudyEntry& entry : entries) {
    append(rows, entry.contender ? rows_of(entry.base, *next++, context, entry.work, entry.math, entry.saved)
                                 : rows_without_time(entry.base, entry.status, entry.reason, context));
  }
  return rows;
}

std::vector<ResultRow> bench_study_into(std::vector<StudyEntry> entries,
                                        const std::function<void()>& allocate, BenchSession& session,
                                        const std::function<void(std::vector<ResultRow>&)>& finish) {
  std::vector<ResultRow> rows = earlier_rows(entries, session);
  if (rows.empty()) {
    DeviceGuard guard(session.device());
    if (const std::optional<Refusal> no_memory = attempt(session.stream(), allocate)) {
      for (StudyEntry& entry : entries) {
        if (!std::exchange(entry.contender, nullptr)) continue;
        entry.status = no_memory->status;
        entry.reason = no_memory->reason;
      }
    }
    rows = rows_of(entries, measure(contenders_of(entries), session.stream(), session.measure_options()),
                   session.row_context());
    if (finish) finish(rows);
  }
  session.add(rows);
  return rows;
}

}  // namespace lenslet
