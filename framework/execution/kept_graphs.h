// KeptGraphs: captured passes by the memory that they read and write, for a caller who passes the same buffers again.
#pragma once

#include <algorithm>
#include <vector>

#include "framework/device/stream.h"

namespace lenslet {

class KeptGraphs {
 public:
  /// Where a pass or a slice begins and ends.
  struct Ends {
    const float* input;  ///< The first value that is read.
    float* output;       ///< The first value that is written.
    /// Equal addresses.
    bool operator==(const Ends& other) const noexcept {
      return input == other.input && output == other.output;
    }
  };
  KeptGraphs() { kept_.reserve(kMost); }
  /// The graph for that memory; null the first time. The second time `capture()` makes it, so that memory that is used
  /// once costs nothing. The pairs used last are remembered.
  template <typename Capture>
  const CapturedGraph* of(Ends ends, const Capture& capture) {
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.ends == ends; });
    if (found == kept_.end()) {
      if (kept_.size() == kMost) kept_.pop_back();
      kept_.insert(kept_.begin(), Kept{ends, {}});
      return nullptr;
    }
    std::rotate(kept_.begin(), found, found + 1);
    CapturedGraph& graph = kept_.front().graph;
    if (!graph) graph = capture();
    return &graph;
  }

 private:
  static constexpr size_t kMost = 8;  // pairs of buffers that take turns
  struct Kept {
    Ends ends;
    CapturedGraph graph;
  };
  std::vector<Kept> kept_;  // the one used last comes first
};

}  // namespace lenslet
