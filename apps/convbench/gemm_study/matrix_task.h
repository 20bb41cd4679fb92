// MatrixTask: the data of one product of the gemm study and its fp64 reference.
#pragma once

#include <vector>

#include "apps/convbench/bench/study_task.h"
#include "apps/convbench/gemm_study/matrix_kernels.h"
#include "framework/graph/layer.h"

namespace lenslet {

class MatrixTask : public StudyTask {
 public:
  /// All inputs share B; each has its own A.
  MatrixTask(const MatrixShape& shape, reference::Fill fill, uint64_t seed);

  const MatrixShape& shape() const noexcept { return shape_; }
  size_t output_count() const override { return count(shape_.rows, shape_.columns); }
  Work work() const noexcept;  // A, B and C once
  /// Throws MemoryError with the bytes needed and free.
  void allocate(Device device, size_t workspace_bytes);
  const float* a() const { return block(kA); }
  const float* b() const { return block(kB); }
  void* workspace() const { return block_bytes(kWorkspace) > 0 ? block(kWorkspace) : nullptr; }

 protected:
  void fill(int round, Stream& stream) override;
  /// Whole columns: all of a small product, else those at both ends and a random choice.
  std::vector<Expected> answers(int answer) const override;

 private:
  enum Block : size_t { kA, kB, kC = kOutput, kWorkspace };
  static size_t count(int rows, int columns) noexcept {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns);
  }
  void upload_b(Stream& stream);

  MatrixShape shape_;
  std::vector<int> judged_;      // columns
  std::vector<float> a_;         // of the input loaded last
  std::vector<float> judged_b_;  // [judged columns, inner]
};

}  // namespace lenslet
