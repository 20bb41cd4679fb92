// StencilTask: data and shared memory of one stencil, and the fp64 judge for every boundary.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/convbench/stencil/stencil.h"
#include "apps/measuring/contender.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {

class StencilTask {
 public:
  /// All inputs share the filter; each has its own x.
  StencilTask(const Stencil& stencil, reference::Fill fill, uint64_t seed);

  const Stencil& stencil() const noexcept { return stencil_; }
  const std::vector<float>& filter() const noexcept { return filter_; }
  /// Throws MemoryError with the bytes needed and free.
  void allocate(Device device);
  /// Loads input number `round`, unless it is loaded, and poisons everything else. Synchronises.
  void load(int round, Stream& stream);
  const float* x() const { return block(0); }
  const float* device_filter() const { return block(1); }
  float* y() const { return block(2); }
  /// Judges y, a host copy: all of a small one, else the outputs at the edges and a random choice. Every value must be
  /// a number, and nothing may be written outside y.
  Verdict judge(int round, Boundary boundary, const std::vector<float>& y, Stream& stream);

 private:
  struct Sample {
    size_t index;
    double value, magnitude;  // the sum, and the sum of its terms' absolute values
  };
  float* block(size_t index) const { return static_cast<float*>(memory_->block(index)); }
  const std::vector<float>& input(int round);
  const std::vector<Sample>& samples(int round, Boundary boundary);
  std::vector<size_t> chosen() const;
  std::vector<float> values(size_t count, uint64_t seed) const;

  Stencil stencil_;
  reference::Fill fill_;
  uint64_t seed_;
  std::vector<float> filter_, input_;
  int input_round_ = -1;
  std::map<std::pair<int, Boundary>, std::vector<Sample>> samples_;
  std::optional<reference::GuardedMemory> memory_;
  int loaded_ = -1, byte_ = 0;
};

}  // namespace lenslet
