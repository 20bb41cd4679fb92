// Loops that one CPU thread runs to measure ceilings: multiply-adds on registers, and reads from memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// A loop of multiply-adds in one instruction set. Without FMA a multiply-add is two instructions.
struct FmaLoop {
  std::string instruction;     // "AVX-512", "AVX2", "SSE2", "NEON", "plain C++"
  double flops_per_round = 0;  // two for each multiply-add
  // The compiler removes the loop if its result is unused.
  float (*run)(int64_t rounds, float factor, float addend);
};
/// The instruction sets that this processor supports, the widest first.
std::vector<FmaLoop> fma_loops();

/// The sum of `count` words, read with the widest loads of this processor. `data` must be aligned to 64 bytes, and
/// `count` a multiple of 128.
uint32_t read_words(const uint32_t* data, int64_t count);

}  // namespace lenslet
