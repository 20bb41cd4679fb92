// counted: a number with its noun in the singular or plural.
#pragma once

#include <string>

namespace lenslet {

/// "1 cluster", "0 clusters", "8 clusters" for the noun "cluster", whose plural ends with s.
template <typename Number>
std::string counted(Number count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace lenslet
