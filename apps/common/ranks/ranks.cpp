#include "apps/common/ranks/ranks.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <thread>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "apps/common/system/signals.h"
#include "framework/base/clock.h"
#include "framework/base/integer_math.h"
#include "framework/device/launched_rank.h"
#include "framework/graph/module.h"

namespace lenslet {
namespace {

constexpr std::chrono::milliseconds kTimeToReport(500);
constexpr double kPatienceNs = 1e9;  // for the others, of a rank that has failed or was interrupted

}  // namespace

RankRange range_of(int64_t count, int64_t group, RankPlace place) {
  const int64_t groups = ceil_div(count, group), each = groups / place.size, more = groups % place.size;
  const auto begin = [&](int64_t of) { return std::min(count, (of * each + std::min(of, more)) * group); };
  return {begin(place.rank), begin(place.rank + 1) - begin(place.rank)};
}

ExitCode Ranks::together(const std::function<ExitCode()>& body) {
  if (!link_) return body();
  std::exception_ptr own;
  const auto run = [&]() -> ExitCode {
    ExitCode code = ExitCode::kDevice;
    std::string message;
    try {
      code = body();
      if (code == ExitCode::kInterrupted) message = "interrupted";
    } catch (const Settled&) {
      throw;
    } catch (const Error& error) {
      own = std::current_exception();
      code = error.exit_code();
      message = error.what();
    } catch (const std::bad_alloc&) {
      own = std::current_exception();
      code = ExitCode::kMemory;
      message = "out of memory";
    } catch (const std::exception& error) {
      own = std::current_exception();
      message = error.what();
    }
    settle(code, message);
    return ExitCode::kOk;
  };
  try {
    return run();
  } catch (const Settled& worst) {
    if (!first()) return worst.code;
    if (worst.rank == 0 && own) std::rethrow_exception(own);
    if (worst.rank == 0) return worst.code;
    throw Error(worst.code, concat("rank ", worst.rank, " of ", size(), ": ", worst.message));
  }
}

void Ranks::settle(ExitCode code, const std::string& message) {
  if (alone()) return;
  struct State {
    int code;
    size_t bytes;  // of the message
  };
  const State mine = {static_cast<int>(code), message.size()};
  std::vector<State> states(static_cast<size_t>(size()));
  exchange(&mine, sizeof mine, states.data(), code, message);
  const auto worst = std::max_element(states.begin(), states.end(),
                                      [](const State& a, const State& b) { return a.code < b.code; });
  if (worst->code == 0) return;
  const auto rank = static_cast<int>(worst - states.begin());
  std::string text = rank == this->rank() ? message : std::string(worst->bytes, '\0');
  link_->broadcast(text.data(), text.size(), rank);
  // A rank leaves MPI when all do. The failed one therefore makes sure that they come, and ends them if one hangs.
  exchange(&mine, sizeof mine, states.data(), rank == this->rank() ? code : ExitCode::kOk, message);
  throw Settled{static_cast<ExitCode>(worst->code), rank, text};
}

void Ranks::exchange(const void* mine, size_t bytes, void* all, ExitCode code, const std::string& message) {
  double end = std::numeric_limits<double>::infinity();
  const bool answered = link_->exchange(mine, bytes, all, [&] {
    const bool ends = code != ExitCode::kOk || interrupted();
    if (ends) end = std::min(end, host_now_ns() + kPatienceNs);
    return host_now_ns() < end;
  });
  if (!answered) give_up(code == ExitCode::kOk ? ExitCode::kInterrupted : code, message);
}

void Ranks::sum(const std::vector<int64_t*>& values) {
  if (alone()) return;
  std::vector<int64_t> mine;
  mine.reserve(values.size());
  for (const int64_t* value : values) mine.push_back(*value);
  std::vector<int64_t> all(values.size() * static_cast<size_t>(size()));
  meet();
  exchange(mine.data(), mine.size() * sizeof mine[0], all.data(), ExitCode::kOk, "");
  if (!first()) return;
  for (size_t i = values.size(); i < all.size(); ++i) *values[i % values.size()] += all[i];
}

void Ranks::give_up(ExitCode code, const std::string& message) {
  const std::string what = code == ExitCode::kInterrupted ? "interrupted" : message;
  write_standard_error(
      printable_line(concat("lenslet: error: rank ", rank(), " of ", size(), ": ", what, "; all ranks end")) +
      "\n");
  link_->abort(static_cast<int>(code));
  throw Settled{code, rank(), what};
}

Ranks join_ranks() {
  const std::optional<LaunchedRank> launched = launched_rank();
  if (!launched || launched->size == 1) return {};
  static const std::unique_ptr<RankLink> link = [] {
    const auto make = reinterpret_cast<MakeRankLink>(Module::open("mpi").symbol(kRankLinkSymbol));
    return std::unique_ptr<RankLink>(make());
  }();
  if (link->size() != launched->size)
    throw UnavailableError(concat("mpirun started ", launched->size,
                                  " processes, but the MPI of this build finds ", link->size(),
                                  "; start with the mpirun of that MPI"));
  return Ranks(link.get());
}

bool first_of_machine() {
  const std::optional<LaunchedRank> launched = launched_rank();
  return !launched || launched->local == 0;
}

bool reports_before_joining() {
  if (first_of_machine()) return true;
  std::this_thread::sleep_for(kTimeToReport);
  return false;
}

ExitCode run_in_ranks(const std::function<ExitCode(Ranks&)>& body) {
  Ranks ranks;
  try {
    ranks = join_ranks();
  } catch (const Error& error) {
    if (reports_before_joining()) throw;
    return error.exit_code();
  }
  return ranks.together([&] { return body(ranks); });
}

}  // namespace lenslet
