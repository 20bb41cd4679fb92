// StencilTask: the data of one stencil, and the fp64 reference for every boundary.
#pragma once

#include <vector>

#include "apps/convbench/bench/study_task.h"
#include "apps/convbench/stencil/stencil.h"

namespace lenslet {

class StencilTask : public StudyTask {
 public:
  /// All inputs share the filter; each has its own x.
  StencilTask(const Stencil& stencil, reference::Fill fill, uint64_t seed);

  const Stencil& stencil() const noexcept { return stencil_; }
  size_t output_count() const override { return static_cast<size_t>(stencil_.elements()); }
  const std::vector<float>& filter() const noexcept { return filter_; }
  /// Throws MemoryError with the bytes needed and free.
  void allocate(Device device);
  const float* x() const { return block(kX); }
  const float* device_filter() const { return block(kFilter); }
  Verdict judge(int round, Boundary boundary, const std::vector<float>& y, Stream& stream) {
    return StudyTask::judge(round, y, stream, static_cast<int>(boundary));
  }

 protected:
  void fill(int round, Stream& stream) override;
  /// All outputs of a small stencil, else those at the edges and a random choice of the rest.
  std::vector<Expected> answers(int boundary) const override;

 private:
  enum Block : size_t { kX, kFilter };
  std::vector<size_t> chosen() const;

  Stencil stencil_;
  std::vector<float> filter_, x_;  // x of the input loaded last
};

}  // namespace lenslet
