// What all candidates of one convolution problem share: data, device memory, and the judge. Candidates run in turn, so
// one set is enough.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/measuring/candidate.h"
#include "layers/conv/conv_accuracy.h"
#include "layers/reference/conv_judge.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {

/// The operations computed together with a convolution, in this order.
struct ConvEpilogue {
  bool bias = false, relu = false;
  std::optional<Pool2dWindow> max_pool;

  /// "with bias and ReLU inside"; empty for the convolution alone.
  std::string name() const;
};

/// Input, output and workspace of one problem, between canaries. A derived class fills them and judges the output.
class ConvArena {
 public:
  explicit ConvArena(const Conv2dProblem& problem) : problem_(problem) {}
  virtual ~ConvArena() = default;
  ConvArena(const ConvArena&) = delete;
  ConvArena& operator=(const ConvArena&) = delete;

  const Conv2dProblem& problem() const noexcept { return problem_; }
  virtual const std::vector<float>& weights() const = 0;  // [K, C/G, R, S]
  /// [K]; null if the arena judges the convolution alone.
  virtual const float* bias() const { return nullptr; }
  /// Judges an output of input number `round`; `accuracy`: of the backend that computed it. Writes elsewhere are
  /// checked by damage().
  virtual Verdict judge(int round, const std::vector<float>& output, const ConvAccuracy& accuracy,
                        const ConvEpilogue& epilogue) = 0;

  /// Throws MemoryError with the bytes needed and free if operands and workspace do not fit. Call it before generating
  /// data.
  static void check_memory(const Conv2dProblem& problem, Device device, size_t workspace_bytes = 0);
  /// Allocates device memory once the largest workspace is known; with `end_to_end` also page-locked host copies, up to
  /// 4 GiB. Throws MemoryError with the bytes needed and free.
  void allocate(Device device, size_t workspace_bytes, bool end_to_end);
  /// Loads input number `round`, unless it is loaded, and poisons everything else. The workspace is always poisoned, so
  /// that no candidate finds another's data.
  void load(int round, Stream& stream);
  /// Poisons every block, including the input, for a caller that writes its own input to x_to_fill().
  void poison(Stream& stream);
  /// Describes writes outside the blocks since load() or poison(); empty if there were none. Synchronises.
  std::string damage(Stream& stream);

  const float* x() const { return static_cast<const float*>(memory_->block(kInput)); }
  /// After this, load() uploads its input again.
  void* x_to_fill() {
    loaded_ = -1;
    return memory_->block(kInput);
  }
  float* y() const { return static_cast<float*>(memory_->block(kOutput)); }  // elements of the problem's type
  size_t y_count() const { return static_cast<size_t>(problem_.output_shape().num_elements()); }
  void* workspace() const { return memory_->block(kWorkspace); }
  bool end_to_end() const noexcept { return host_x_.has_value(); }
  void copy_in(Stream& stream);
  void copy_out(Stream& stream);
  float* host_y() const { return static_cast<float*>(host_y_->data()); }

 protected:
  /// Input number `round` in the problem's layout, each value exact in its type; valid until the next call.
  virtual const std::vector<float>& input(int round) = 0;

 private:
  enum Block : size_t { kInput, kOutput, kWorkspace };

  Conv2dProblem problem_;
  std::optional<reference::GuardedMemory> memory_;
  std::optional<PinnedBuffer> host_x_, host_y_;
  int loaded_ = -1, byte_ = 0;
};

/// Random data, judged by the fp64 reference.
class ReferenceArena : public ConvArena {
 public:
  ReferenceArena(const Conv2dProblem& problem, reference::Fill fill, uint64_t seed);

  const std::vector<float>& weights() const override { return judge_.weights(); }
  const float* bias() const override { return judge_.bias().data(); }
  Verdict judge(int round, const std::vector<float>& output, const ConvAccuracy& accuracy,
                const ConvEpilogue& epilogue) override;

 protected:
  const std::vector<float>& input(int round) override { return data(round).x; }

 private:
  const ConvCase& data(int round);

  uint64_t seed_of(int round) const { return seed_ * 1000 + 100 * (static_cast<uint64_t>(round) + 1); }

  uint64_t seed_;
  reference::Fill fill_;
  ConvJudge judge_;
  std::vector<std::optional<ConvCase>> cases_;
};

}  // namespace lenslet
