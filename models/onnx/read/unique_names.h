// Internal: names of which no two are equal.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "framework/base/error.h"

namespace lenslet::onnx {

class UniqueNames {
 public:
  void hold(const std::string& name) { taken_.insert(name); }
  /// `wanted`, or `wanted` with "_2", "_3" and so on after it if it is taken; takes it.
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    while (!taken_.insert(name).second) name = concat(wanted, "_", 1 + ++last_[wanted]);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, size_t> last_;  // how many names were tried after a wanted one
};

}  // namespace lenslet::onnx
