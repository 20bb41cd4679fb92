// KeptGraphs: captured passes by the memory that they read and write, for a caller who passes the same buffers again.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "framework/device/stream.h"

namespace lenslet {

class KeptGraphs {
 public:
  /// Where a pass or a slice begins and ends.
  struct Ends {
    const float* input;            ///< The first value that is read.
    float* output;                 ///< The first value that is written.
    float* pair_values = nullptr;  ///< As RunContext::pair_values.
    /// Equal addresses.
    bool operator==(const Ends& other) const noexcept {
      return input == other.input && output == other.output && pair_values == other.pair_values;
    }
  };
  KeptGraphs() { kept_.reserve(kMaxKept); }
  /// The graph for that memory; null the first time. The second time `capture()` makes it, so that memory that is used
  /// once costs nothing. The pairs used last are remembered. If `capture()` throws, so does this, once: the same work
  /// would fail again, so later calls return the graphs that were made before, and null for any other memory.
  template <typename Capture>
  const CapturedGraph* of(Ends ends, const Capture& capture) {
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.ends == ends; });
    if (found == kept_.end()) {
      if (!captures_) return nullptr;
      if (kept_.size() == kMaxKept) kept_.pop_back();
      kept_.insert(kept_.begin(), Kept{ends, std::nullopt});
      return nullptr;
    }
    std::rotate(kept_.begin(), found, found + 1);
    std::optional<CapturedGraph>& graph = kept_.front().graph;
    if (!graph) {
      try {
        graph = capture();
      } catch (...) {
        captures_ = false;
        const auto uncaptured = [](const Kept& kept) { return !kept.graph; };
        kept_.erase(std::remove_if(kept_.begin(), kept_.end(), uncaptured), kept_.end());
        throw;
      }
    }
    return &*graph;
  }

 private:
  static constexpr size_t kMaxKept = 8;  // pairs of buffers that take turns
  struct Kept {
    Ends ends;
    std::optional<CapturedGraph> graph;  // none: used once
  };
  std::vector<Kept> kept_;  // the one used last comes first
  bool captures_ = true;    // no capture has failed
};

}  // namespace lenslet
