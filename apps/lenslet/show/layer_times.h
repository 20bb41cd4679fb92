// Times for a page: each layer of a pass, the backends of one layer by turns, the fastest plan.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "apps/common/ceilings/ceilings.h"
#include "apps/lenslet/show/looker.h"

namespace lenslet {

inline constexpr int64_t kMostShownBatch = 1024;

/// Not thread-safe. Errors of a request are DataError.
class LayerTimes {
 public:
  /// `looker` must outlive this.
  explicit LayerTimes(const Looker& looker) : looker_(looker) {}

  /// The member `profile` of a page: what `lenslet profile` measures of a pass with these backends, on random pictures.
  nlohmann::ordered_json profile(const std::string& backends, int64_t batch);
  /// The times of every backend of a layer, by turns, on the values that the layers before it write; the reason for one
  /// that refuses.
  nlohmann::ordered_json race(const std::string& layer, int64_t batch);
  /// The fastest backend of every layer by turns, the layered plan of those against the session's own plan, and the
  /// faster of both as the text of a file for --plan.
  nlohmann::ordered_json tune(int64_t batch);

 private:
  const Ceilings& ceilings();

  const Looker& looker_;
  std::optional<Ceilings> ceilings_;
};

}  // namespace lenslet
