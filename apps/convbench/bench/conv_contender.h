// A convolution backend as a contender, and the memory that the contenders of one problem share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/measuring/contender.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/conv_judge.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {

/// Input, output and workspace of one problem on one device, between canaries, and the reference. Contenders take
/// turns, so one set serves them all.
class ConvArena {
 public:
  ConvArena(const Conv2dProblem& problem, reference::Fill fill, uint64_t seed);

  const Conv2dProblem& problem() const noexcept { return problem_; }
  const ConvJudge& judge() const noexcept { return judge_; }
  /// Device memory, once the largest workspace is known; page-locked host copies where `end_to_end`. Throws MemoryError
  /// with the bytes needed and free.
  void allocate(Device device, size_t workspace_bytes, bool end_to_end);
  /// Brings input number `round` into memory and poisons everything else, unless it is there already; the workspace is
  /// poisoned anyway, so that no rival finds another's.
  void load(int round, Stream& stream);
  const ConvCase& data(int round);
  /// What was written outside the blocks since load(); empty when nothing was. Waits.
  std::string damage(Stream& stream);

  const float* x() const { return static_cast<const float*>(memory_->block(0)); }
  float* y() const { return static_cast<float*>(memory_->block(1)); }
  void* workspace() const { return memory_->block(2); }
  bool end_to_end() const noexcept { return host_x_.has_value(); }
  void copy_in(Stream& stream);
  void copy_out(Stream& stream);
  float* host_y() const { return static_cast<float*>(host_y_->data()); }

 private:
  Conv2dProblem problem_;
  uint64_t seed_;
  ConvJudge judge_;
  std::vector<std::optional<ConvCase>> cases_;
  std::optional<reference::GuardedMemory> memory_;
  std::optional<PinnedBuffer> host_x_, host_y_;
  int loaded_ = -1, byte_ = 0;
};

/// One backend prepared for the arena's problem, without bias and ReLU.
class ConvContender : public Contender {
 public:
  /// Prepares. Throws UnavailableError with the reason, MemoryError where the workspace limit rules it out.
  ConvContender(std::string name, const ConvBackend& backend, MathMode math, ConvArena& arena,
                size_t workspace_limit, Stream& stream);

  std::string name() const override { return name_; }
  void load(int round, Stream& stream) override { arena_.load(round, stream); }
  void run(Stream& stream) override;
  float* output() override { return arena_.y(); }
  size_t output_count() const override { return static_cast<size_t>(arena_.judge().outputs()); }
  Verdict judge(int round, const std::vector<float>& output) override;
  bool end_to_end() const override { return arena_.end_to_end(); }
  void copy_in(Stream& stream) override { arena_.copy_in(stream); }
  void copy_out(Stream& stream) override { arena_.copy_out(stream); }
  float* host_output() override { return arena_.host_y(); }

  const ConvKernel& kernel() const noexcept { return *kernel_; }
  double prepare_ns() const noexcept { return prepare_ns_; }
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  std::string name_;
  ConvArena& arena_;
  ConvAccuracy accuracy_;
  Stream& stream_;
  DevicePrepareServices services_;
  std::unique_ptr<ConvKernel> kernel_;
  size_t workspace_bytes_ = 0;
  double prepare_ns_ = 0;
};

}  // namespace lenslet
