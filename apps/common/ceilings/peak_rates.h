// Loops of one CPU thread that measure ceilings: multiply-adds between registers, and reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// Multiply-adds of one instruction set. On x86-64 without FMA one is a multiplication and an addition.
struct FmaLoop {
  std::string instruction;                                   // "AVX-512", "AVX2", "SSE2", "NEON", "plain C++"
  double flops_a_round = 0;                                  // two for each multiply-add
  float (*run)(int64_t rounds, float factor, float addend);  // use its result: unused, the loop is removed
};
/// The instruction sets that this processor supports, the widest first.
std::vector<FmaLoop> fma_loops();

/// Adds up `count` words with the widest loads of this processor; `data` is aligned to 64 bytes, `count` a multiple of
/// 128.
uint32_t read_words(const uint32_t* data, int64_t count);

}  // namespace lenslet
