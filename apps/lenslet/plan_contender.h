// The whole model as a rival: executables of different plans on one stream, on the same pictures, before the same judge.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/lenslet/logits_check.h"
#include "apps/measuring/contender.h"
#include "framework/executable.h"

namespace lenslet {

/// Pictures for batches of any size, and what the judge says of them. A batch of number `round` holds them again and again,
/// each round beginning at another one; a prime number of them, so that no tile of a kernel holds the same twice in
/// the same place.
class BatchPictures {
 public:
  BatchPictures(const Graph& graph, uint64_t seed);
  int32_t picture_of(int64_t slot, int round) const noexcept;
  /// Fills the executable's input with batch number `round`; waits.
  void load(Executable& executable, int round) const;
  const ReferenceLogits& expected() const noexcept { return expected_; }

  /// Of a batch of that size the slots that are judged in that round: all of a small one, else both ends and some between, others
  /// in each round.
  struct Slots {
    int64_t first = 0, count = 0;
  };
  static std::vector<Slots> judged_slots(int64_t batch, int round);

 private:
  std::vector<uint8_t> pixels_;    // the pictures twice, so that any of them may come first
  std::vector<float> normalised_;  // the same
  ReferenceLogits expected_;
};

/// An executable, which must run on the stream that it is measured on (BuildOptions::stream).
class PlanContender : public Contender {
 public:
  PlanContender(std::string name, std::unique_ptr<Executable> executable, const BatchPictures& pictures)
      : name_(std::move(name)), executable_(std::move(executable)), pictures_(pictures) {}

  const Executable& executable() const noexcept { return *executable_; }
  std::string name() const override { return name_; }
  void load(int round, Stream&) override { pictures_.load(*executable_, round); }
  void run(Stream&) override { executable_->run(); }
  float* output() override { return executable_->steps().back().output.data; }
  size_t output_count() const override { return executable_->output().bytes() / sizeof(float); }
  std::vector<Part> judged(int round) const override;
  Verdict judge(int round, const std::vector<float>& output) override;

 private:
  std::string name_;
  std::unique_ptr<Executable> executable_;
  const BatchPictures& pictures_;
};

}  // namespace lenslet
