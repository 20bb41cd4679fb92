#include "apps/convbench/bench/study_bench.h"

#include <iterator>

#include "apps/common/attempt.h"

namespace lenslet {
namespace {

void append(std::vector<ResultRow>& rows, std::vector<ResultRow> some) {
  rows.insert(rows.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
}

}  // namespace

void bench_study_into(const std::vector<StudyEntry>& entries, const std::function<void()>& allocate,
                      BenchSession& session) {
  const RowContext context = session.row_context();
  std::vector<ResultRow> wanted;
  for (const StudyEntry& entry : entries) {
    if (entry.contender)
      append(wanted, rows_without_time(entry.base, "SKIPPED", "not measured yet", context));
  }
  std::vector<ResultRow> rows;
  if (const std::vector<ResultRow> earlier = session.resumed(wanted); !earlier.empty()) {
    auto next = earlier.begin();
    for (const StudyEntry& entry : entries) {
      std::vector<ResultRow> some = rows_without_time(entry.base, entry.status, entry.reason, context);
      if (entry.contender) {
        for (ResultRow& row : some) row = *next++;
      }
      append(rows, std::move(some));
    }
    return session.add(std::move(rows));
  }

  DeviceGuard guard(session.device());
  const std::optional<Refusal> no_memory = attempt(session.stream(), allocate);
  std::vector<Contender*> rivals;
  for (const StudyEntry& entry : entries) {
    if (entry.contender && !no_memory) rivals.push_back(entry.contender.get());
  }
  const std::vector<Measurement> measured = measure(rivals, session.stream(), session.measure_options());
  size_t next = 0;
  for (const StudyEntry& entry : entries) {
    if (!entry.contender) {
      append(rows, rows_without_time(entry.base, entry.status, entry.reason, context));
    } else if (no_memory) {
      append(rows, rows_without_time(entry.base, no_memory->status, no_memory->reason, context));
    } else {
      append(rows, rows_of(entry.base, measured[next++], context, entry.work, MathMode::kFp32));
    }
  }
  session.add(std::move(rows));
}

}  // namespace lenslet
