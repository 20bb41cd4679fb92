// Ranks: the processes that mpirun started for one command. Each evaluates its share; rank 0 prints, writes and
// decides.
//
// A process that mpirun did not start is alone: it is rank 0 of 1, and nothing of MPI is loaded. A rank that fails ends
// the run: rank 0 reports the error if every rank still answers, else the failed rank does and ends the others. The
// exit code is the largest of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "apps/common/ranks/rank_link.h"
#include "framework/base/error.h"

namespace lenslet {

/// A range of the items that a command evaluates.
struct RankRange {
  int64_t first = 0, count = 0;
};
/// One of the processes of a command.
struct RankPlace {
  int rank = 0, size = 1;  // rank < size, the number of processes
};
/// The range of one rank in `count` items: whole groups of `group` items, equally many for each rank. Where they do not
/// divide, the first ranks have one more, and the last ranks may have none.
RankRange range_of(int64_t count, int64_t group, RankPlace place);

class Ranks {
 public:
  /// Alone.
  Ranks() = default;
  /// Over a link, which outlives this object; null: alone.
  explicit Ranks(RankLink* link) : link_(link) {}

  int rank() const { return link_ ? link_->rank() : 0; }
  int size() const { return link_ ? link_->size() : 1; }
  bool alone() const { return size() == 1; }
  bool first() const { return rank() == 0; }
  RankRange range(int64_t count, int64_t group) const { return range_of(count, group, {rank(), size()}); }

  /// Runs `body` in every rank and returns the same exit code in all. If one fails, rank 0 throws the error with the
  /// largest exit code; the others return it.
  ExitCode together(const std::function<ExitCode()>& body);

  // Inside together(), in every rank in the same order. If another rank has failed, they end `body`.

  /// Waits until every rank is here.
  void meet() { settle(ExitCode::kOk, ""); }
  /// Adds up each value over the ranks; only rank 0 gets the sums.
  void sum(const std::vector<int64_t*>& values);
  /// Every rank gets the value of each, in order.
  template <class T>
  std::vector<T> all(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    std::vector<T> values(static_cast<size_t>(size()), mine);
    if (alone()) return values;
    meet();
    exchange(&mine, sizeof(T), values.data(), ExitCode::kOk, "");
    return values;
  }
  /// Rank 0 gets the values of all ranks, in their order; the others keep theirs.
  template <class T>
  void gather(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (alone()) return;
    const std::vector<int64_t> counts = all(static_cast<int64_t>(values.size()));
    if (!first()) return link_->send(values.data(), values.size() * sizeof(T));
    for (int from = 1; from < size(); ++from) {
      const auto more = static_cast<size_t>(counts[static_cast<size_t>(from)]), before = values.size();
      values.resize(before + more);
      link_->receive(from, values.data() + before, more * sizeof(T));
    }
  }

 private:
  /// Another rank's failure, or one's own that was sent to every rank.
  struct Settled {
    ExitCode code;
    int rank;
    std::string message;
  };

  /// Exchanges the codes and messages of all ranks. Throws Settled if one has failed.
  void settle(ExitCode code, const std::string& message);
  /// RankLink::exchange(). Ends all ranks if some do not answer while this one fails, with `code`, or is interrupted.
  void exchange(const void* mine, size_t bytes, void* all, ExitCode code, const std::string& message);
  /// Ends all ranks, because some do not answer.
  [[noreturn]] void give_up(ExitCode code, const std::string& message);

  RankLink* link_ = nullptr;
};

/// The ranks of this process. With more than one, opens the module `mpi`, joins them once, and stays until the process
/// ends. Throws UnavailableError.
Ranks join_ranks();

/// Whether this process reports what happens to all alike: the first that mpirun started on this machine, or alone.
bool first_of_machine();
/// Like first_of_machine(), for an error that each process meets before it joins. Any other process waits a moment
/// before it returns false, because mpirun ends all processes when one ends with an error.
bool reports_before_joining();

/// together() in joined ranks. What prevents joining is reported by the first process of each machine.
ExitCode run_in_ranks(const std::function<ExitCode(Ranks&)>& body);

}  // namespace lenslet
