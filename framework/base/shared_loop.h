// A parallel loop whose threads take the next items when they are free.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"

namespace lenslet {

/// With fewer grains for each slot, a last grain that others wait for would cost more than equal parts. Chosen by hand.
inline constexpr int64_t kMinLoopTurns = 16;
/// The ranges that a slot takes on average at most; the last one must be short. Chosen by hand.
inline constexpr int64_t kMaxLoopTurns = 64;

/// How shared_loop() divides its items.
struct LoopShares {
  int64_t items = 0;   ///< 0 or more.
  int64_t slots = 1;   ///< At most as many threads take part; 1 or more if there are items.
  int64_t grain = 1;   ///< Items that belong together.
  bool light = false;  ///< Like parallel_for_light(), not parallel_for().
};

/// Calls body(slot, begin, end) on disjoint ranges that cover [0, items). A slot, of [0, slots), is used by one thread
/// at a time and may own scratch memory. The thread takes the next range, of whole grains, when it is done with one: a
/// core that is slower, or that other processes use, gets less. Loops of few grains have one range of equal length for
/// each slot. Only for a body whose results do not depend on the split. Otherwise like parallel_for().
/// enter(slot) comes before the slot's first range, in the same thread: it prepares the slot's memory.
template <typename Body, typename Enter>
void shared_loop(const LoopShares& shares, const Body& body, const Enter& enter) {
  const auto [items, slots, grain, light] = shares;
  if (items <= 0) return;
  const int64_t grains = ceil_div(items, grain);
  const bool equal = slots == 1 || grains < slots * kMinLoopTurns;
  const int64_t range = std::max<int64_t>(grains / (slots * kMaxLoopTurns), 1) * grain;
  std::atomic<int64_t> next{0};
  const auto take_turns = [&, items = items, slots = slots](int64_t first_slot, int64_t end_slot) {
    for (int64_t slot = first_slot; slot < end_slot; ++slot) {
      int64_t begin = equal ? slot * items / slots : next.fetch_add(range, std::memory_order_relaxed);
      const int64_t end = equal ? (slot + 1) * items / slots : std::min(begin + range, items);
      if (begin >= end) continue;
      enter(slot);
      body(slot, begin, end);
      if (equal) continue;
      while ((begin = next.fetch_add(range, std::memory_order_relaxed)) < items)
        body(slot, begin, std::min(begin + range, items));
    }
  };
  light ? parallel_for_light(slots, 1, take_turns) : parallel_for(slots, 1, take_turns);
}

/// Without memory to prepare.
template <typename Body>
void shared_loop(const LoopShares& shares, const Body& body) {
  shared_loop(shares, body, [](int64_t /*slot*/) {});
}

}  // namespace lenslet
