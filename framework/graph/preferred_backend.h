// What `auto` takes of the backends of an operation.
#pragma once

#include <vector>

namespace lenslet {

/// The first of the entries, in rank order, that is supported and suited, else the first supported; null if none is.
template <class Entry, class Supports, class Suits>
const Entry* preferred_of(const std::vector<const Entry*>& entries, Supports&& supports, Suits&& suits) {
  const Entry* first = nullptr;
  for (const Entry* entry : entries) {
    if (!supports(*entry)) continue;
    if (suits(*entry)) return entry;
    if (!first) first = entry;
  }
  return first;
}

}  // namespace lenslet
