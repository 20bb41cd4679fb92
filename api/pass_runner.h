// PassRunner: runs host images through an executable and returns its answers to host memory. Internal: Model keeps a
// few.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "api/model_setup.h"
#include "framework/executable.h"

namespace lenslet {

class PassRunner {
 public:
  /// Builds for passes of `batch` images that read and write `pass`.
  PassRunner(const ModelSetup& setup, int64_t batch, InputOutput pass);

  int64_t batch() const noexcept { return executable_.batch(); }
  const Plan& plan() const noexcept { return executable_.plan(); }

  /// One pass over host memory: `images` [batch, 28, 28] of call.input, `answers` [batch, 10] logits or [batch]
  /// predictions. Bytes are normalised if the pass reads fp32. Logits are converted if the call wants predictions. On
  /// the CPU the pass reads and writes the caller's memory in place if the types agree.
  void run(const void* images, void* answers, InputOutput call);

 private:
  void normalize(const void* images, float* out) const;
  void run_on_cpu(const void* images, void* answers, bool same_input);
  void run_on_gpu(const void* images, void* answers, bool same_input);

  Executable executable_;
  InputOutput pass_;
  bool ran_ = false;
  std::unique_ptr<PinnedBuffer> staging_;  // normalised images on their way to a GPU
  std::vector<float> logits_;              // [batch, 10], of a pass whose logits become predictions
};

/// Whether `pass` can answer `call`: bytes can be normalised and logits converted to predictions, but not the reverse.
bool serves(InputOutput pass, InputOutput call) noexcept;

}  // namespace lenslet
