// --cache: which cache states a command times.
#pragma once

#include <optional>
#include <utility>

#include "apps/common/command_line/option_values.h"
#include "apps/measuring/measure.h"

namespace lenslet {

/// {cold, hot}: whether each cache state is timed.
using CacheStates = std::pair<bool, bool>;

inline Words<CacheStates> cache_states() {
  return {{{"cold", {true, false}}, {"hot", {false, true}}, {"both", {true, true}}}};
}
inline void assign(MeasureOptions& target, const CacheStates& states) {
  target.cold = states.first;
  target.hot = states.second;
}
template <typename V>
std::optional<V> value_in(const MeasureOptions& target) {
  return V(target.cold, target.hot);
}

}  // namespace lenslet
