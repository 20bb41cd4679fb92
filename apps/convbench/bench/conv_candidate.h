// A convolution backend as a candidate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/convbench/bench/conv_arena.h"
#include "apps/measuring/candidate.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/prepare_services.h"

namespace lenslet {

/// One backend prepared for the arena's problem: the convolution alone, which is timed, or with fused operations.
class ConvCandidate : public Candidate {
 public:
  /// Prepares the backend; `choice` repeats the choice of an earlier kernel(). Throws UnavailableError with the reason,
  /// or MemoryError if the workspace limit excludes it.
  ConvCandidate(std::string name, const ConvBackend& backend, MathMode math, ConvArena& arena,
                size_t workspace_limit, Stream& stream, const std::string& choice = {},
                const ConvEpilogue& epilogue = {});
  /// Prepares the candidates of epilogues(), if the arena has a bias: with bias, with ReLU and with max pooling, as far
  /// as the backend fuses them. Call it before the arena is allocated. Throws the errors of the constructor.
  void prepare_epilogues();

  std::string name() const override { return concat(name_, " for ", arena_.problem().to_string()); }
  void load(int round, Stream& stream) override { arena_.load(round, stream); }
  void run(Stream& stream) override;
  float* output() override { return arena_.y(); }
  ElementType output_type() const override { return arena_.problem().type; }
  size_t output_count() const override { return output_count_; }
  Verdict judge(int round, const std::vector<float>& output) override;
  std::vector<Candidate*> epilogues() override;
  bool end_to_end() const override { return arena_.end_to_end(); }
  void copy_in(Stream& stream) override { arena_.copy_in(stream); }
  void copy_out(Stream& stream) override { arena_.copy_out(stream); }
  float* host_output() override { return arena_.host_y(); }

  const ConvArena& arena() const noexcept { return arena_; }
  /// How far a correct result may be from the exact one.
  const ConvAccuracy& accuracy() const noexcept { return accuracy_; }
  const ConvKernel& kernel() const noexcept { return *kernel_; }
  /// Fills what is known before the first run: the algorithm that the library chose, launches, workspace and setup
  /// time.
  void describe(ResultRow& row) const;
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  /// The largest workspace of this candidate and its epilogues.
  size_t max_workspace_bytes() const noexcept;

 private:
  std::string name_;
  const ConvBackend& backend_;
  MathMode math_;
  ConvArena& arena_;
  ConvEpilogue epilogue_;
  size_t workspace_limit_, output_count_;
  ConvAccuracy accuracy_;
  Stream& stream_;
  DevicePrepareServices services_;
  std::unique_ptr<ConvKernel> kernel_;
  size_t workspace_bytes_ = 0;
  double prepare_ns_ = 0;
  std::vector<std::unique_ptr<ConvCandidate>> epilogues_;
};

}  // namespace lenslet
