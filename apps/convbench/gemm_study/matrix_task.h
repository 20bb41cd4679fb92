// MatrixTask: the data of one size of the gemm study, the memory that its kernels share, and the fp64 judge.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/convbench/bench/contender.h"
#include "apps/convbench/gemm_study/matrix_kernels.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {

class MatrixTask {
 public:
  /// B is the same for all inputs, A is another one for each.
  MatrixTask(int size, reference::Fill fill, uint64_t seed);

  int size() const noexcept { return size_; }
  double flops() const noexcept;
  double bytes() const noexcept;  // A, B and C once
  /// Throws MemoryError with the bytes needed and free.
  void allocate(Device device, size_t workspace_bytes);
  /// Brings input number `round` into memory and poisons everything else, unless it is there already. Waits.
  void load(int round, Stream& stream);
  MatrixArgs args() const;
  void* workspace() const;
  /// Judges C, a host copy: all of it up to 256 x 256, else rows and columns spread at random, first and last among
  /// them, and a number everywhere; and nothing may be written elsewhere.
  Verdict judge(int round, const std::vector<float>& c, Stream& stream);

 private:
  struct Sample {
    size_t index;
    double value, magnitude;  // of the sum and of its terms' absolute values
  };
  std::vector<float> a(int round) const;
  const std::vector<Sample>& samples(int round);
  std::vector<float> values(uint64_t seed) const;

  int size_;
  reference::Fill fill_;
  uint64_t seed_;
  std::vector<float> b_;
  std::map<int, std::vector<Sample>> samples_;
  std::optional<reference::GuardedMemory> memory_;
  int loaded_ = -1, byte_ = 0;
};

}  // namespace lenslet
