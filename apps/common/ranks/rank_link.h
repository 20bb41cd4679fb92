// What the module `mpi` offers: messages between the processes that mpirun started. Internal: Ranks uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace lenslet {

/// One call at a time; every rank makes the same calls in the same order, except send() and receive(). Failed calls of
/// MPI throw DeviceError.
class RankLink {
 public:
  virtual ~RankLink() = default;  ///< Leaves MPI; waits until every rank does.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Gives every rank the `bytes` bytes of each, in the order of the ranks: `all` has size() times as many. Returns
  /// false, with `all` undefined, if `wait` does before all have come.
  virtual bool exchange(const void* mine, size_t bytes, void* all, const std::function<bool()>& wait) = 0;
  /// Copies bytes of rank `from` to all others.
  virtual void broadcast(void* data, size_t bytes, int from) = 0;
  /// To rank 0, which receives from one rank after another.
  virtual void send(const void* data, size_t bytes) = 0;
  virtual void receive(int from, void* data, size_t bytes) = 0;
  /// Ends the processes of all ranks; mpirun exits with `code`.
  virtual void abort(int code) = 0;
};

/// Name and type of the function that the module exports. It joins the ranks; call it once. The caller owns the link.
inline constexpr const char* kRankLinkSymbol = "lenslet_mpi_link";
using MakeRankLink = RankLink* (*)();

}  // namespace lenslet
