// The problems of `convbench ladder` without --problem.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// The shapes of a ladder, the CPU backend of its first row, and whether tensor cores are measured on the same shapes
/// in rows of their own, beside rungs in fp32: they round their operands.
struct LadderShapes {
  const char* algorithm;
  const char* study;
  const char* cpu_backend;
  bool with_tensor_cores;
  std::vector<const char*> problems;
};

/// Throws UsageError for an algorithm without a ladder.
const LadderShapes& ladder_shapes_of(const std::string& algorithm);

}  // namespace lenslet
