// MatrixTask: the data of one product of the gemm study, the memory that its kernels share, and the fp64 judge.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/convbench/gemm_study/matrix_kernels.h"
#include "apps/measuring/contender.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {

class MatrixTask {
 public:
  /// All inputs share B; each has its own A.
  MatrixTask(const MatrixShape& shape, reference::Fill fill, uint64_t seed);

  const MatrixShape& shape() const noexcept { return shape_; }
  size_t output_count() const noexcept { return count(shape_.rows, shape_.columns); }
  double flops() const noexcept;
  double bytes() const noexcept;  // bytes of A, B and C
  /// Throws MemoryError with the bytes needed and free.
  void allocate(Device device, size_t workspace_bytes);
  /// Loads input number `round`, unless it is loaded, and poisons C. Synchronises.
  void load(int round, Stream& stream);
  MatrixArgs args() const;
  void* workspace() const;
  /// Judges C, a host copy, for the input loaded last: whole columns, all of a small product, else those at both ends
  /// and a random choice. Every value must be a number, and nothing may be written outside C.
  Verdict judge(int round, const std::vector<float>& c, Stream& stream);

 private:
  static size_t count(int rows, int columns) noexcept {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns);
  }
  std::vector<float> values(size_t count, uint64_t seed) const;
  std::vector<float> a(int round) const;
  void upload_b(Stream& stream);

  MatrixShape shape_;
  reference::Fill fill_;
  uint64_t seed_;
  std::vector<int> judged_;      // columns
  std::vector<float> judged_b_;  // [judged columns, inner]
  std::optional<reference::GuardedMemory> memory_;
  int loaded_ = -1;
  bool whole_ = false;  // B and the canaries have their original values
};

}  // namespace lenslet
