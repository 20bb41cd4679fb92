// What `convbench ladder` climbs on where no --problem is given.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// The shapes that a ladder is measured on, the CPU backend that is its first row, and whether tensor cores are
/// measured on the same shapes, apart: they round their operands.
struct LadderShapes {
  const char* algorithm;
  const char* study;
  const char* cpu_backend;
  bool with_tensor_cores;
  std::vector<const char*> problems;
};

/// Throws UsageError for an algorithm that has none.
const LadderShapes& ladder_shapes_of(const std::string& algorithm);

}  // namespace lenslet
