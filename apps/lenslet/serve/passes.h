// Passes: a network prepared for batches of several sizes, of one type of input.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "api/model.h"
#include "apps/lenslet/serve/batches/pass_split.h"
#include "apps/lenslet/session/session.h"

namespace lenslet::serve {

/// One thread at a time.
class Passes {
 public:
  /// Builds passes of 1, 4, 16, … up to `max_samples` samples of inputs of type `input`, which all replay the choices
  /// of the largest, and runs each, on a GPU also to time it. Throws like Model.
  Passes(const Session& session, ElementType input, int64_t max_samples);

  /// Writes outputs [count, …] of inputs [count, …], which are divided between the passes by their count alone.
  template <typename Input>
  void run(const Input* inputs, int64_t count, float* outputs) {
    for (const PassCount& pass : split_into_passes(count, times_)) {
      models_.at(pass.size).run(inputs, pass.count, outputs);
      inputs += pass.count * input_values_;
      outputs += pass.count * output_values_;
    }
  }

  /// The choices of all of them.
  const Plan& plan() { return models_.rbegin()->second.executable().plan(); }
  /// Whether a sample's output has the same bits in every batch.
  bool same_bits() const noexcept { return same_bits_; }

 private:
  std::map<int64_t, Model> models_;  // by samples
  std::vector<PassTime> times_;      // of them, the largest first
  int64_t input_values_, output_values_;
  bool same_bits_ = true;
};

}  // namespace lenslet::serve
