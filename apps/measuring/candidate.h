// Candidate: one implementation of a task, prepared and ready to be enqueued repeatedly.
//
// Convolution backends, rungs, matrix products and stencils are all measured through this interface, by the same code
// and with the same checks (measure.h).
#pragma once

#include <string>
#include <vector>

#include "apps/common/results/result_file.h"
#include "framework/device/stream.h"
#include "framework/tensor/element_type.h"

namespace lenslet {

/// The reference's verdict on one output.
struct Verdict {
  bool passed = false;
  ResultError error;
  std::string reason;  // why it did not pass
};

class Candidate {
 public:
  virtual ~Candidate() = default;
  /// For messages: "winograd".
  virtual std::string name() const = 0;
  /// The input numbers of a measurement: of the check before, of the timed runs and of the check after.
  enum Round { kBefore, kTimed, kAfter };
  /// Uploads input number `round` for the following runs; each number always gives the same data. Not timed; may wait.
  virtual void load(int round, Stream& stream) = 0;
  /// Enqueues one run on `stream`; neither allocates nor synchronises.
  virtual void run(Stream& stream) = 0;
  /// Whether a run is a whole call: it returns when its output, in host memory, is there. It may use other streams, and
  /// is timed by the host clock.
  virtual bool is_call() const { return false; }
  /// The output of run(), on the stream's device, or of a call in host memory. It is poisoned before each check.
  virtual float* output() = 0;
  /// The type of its elements: fp32, fp16 or bf16. An output of other elements counts as fp32, four bytes each.
  virtual ElementType output_type() const { return ElementType::kFp32; }
  virtual size_t output_count() const = 0;  // elements
  /// `count` elements of the output, from `first` on.
  struct Part {
    size_t first = 0, count = 0;
  };
  /// The elements that are copied to the host and judged after a run with input number `round`: the whole output,
  /// unless that would take far longer than the timed run.
  virtual std::vector<Part> judged(int /*round*/) const { return {{0, output_count()}}; }
  /// Compares `output`, a host copy of the parts judged(round) in order, as fp32, with the reference of input `round`.
  virtual Verdict judge(int round, const std::vector<float>& output) = 0;
  /// Candidates that must be correct too before the candidate is timed: the same code with bias, ReLU or pooling fused.
  /// They read the same inputs and are judged once, on the first. The candidate owns them.
  virtual std::vector<Candidate*> epilogues() { return {}; }
  /// Enqueues copies from and to page-locked host memory.
  /// They are timed as part of a run if end_to_end() is true.
  virtual bool end_to_end() const { return false; }
  virtual void copy_in(Stream&) {}
  virtual void copy_out(Stream&) {}
  /// The target of copy_out(): output_count() elements.
  virtual float* host_output() { return nullptr; }
};

}  // namespace lenslet
