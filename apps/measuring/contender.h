// Contender: one implementation of one task, prepared and ready to be enqueued again and again.
//
// Convolution backends, rungs, matrix products and stencils are all measured through this interface, by the
// same code and with the same distrust (measure.h).
#pragma once

#include <string>
#include <vector>

#include "apps/common/result_file.h"
#include "framework/stream.h"

namespace lenslet {

/// What the fp64 reference says of one output.
struct Verdict {
  bool passed = false;
  ResultError error;
  std::string reason;  // why not passed
};

class Contender {
 public:
  virtual ~Contender() = default;
  /// For messages: "winograd".
  virtual std::string name() const = 0;
  /// Uploads input number `round`, for the runs that follow: another one for each number, the same each time.
  /// Not timed; may wait.
  virtual void load(int round, Stream& stream) = 0;
  /// Enqueues one run on `stream`; neither allocates nor synchronises.
  virtual void run(Stream& stream) = 0;
  /// Where run() writes, on the stream's device. All of it is poisoned before each check.
  virtual float* output() = 0;
  virtual size_t output_count() const = 0;  // fp32 elements
  /// Elements of the output, `count` of them from `first` on.
  struct Part {
    size_t first = 0, count = 0;
  };
  /// What is brought to the host and judged after a run with input number `round`: all of the output, unless that would
  /// take far longer than what is timed.
  virtual std::vector<Part> judged(int /*round*/) const { return {{0, output_count()}}; }
  /// Judges `output`, a host copy of judged(round), one part after another, taken after a run with input number
  /// `round`, against the reference.
  virtual Verdict judge(int round, const std::vector<float>& output) = 0;
  /// What must be right as well before it has a time: the same code with bias, ReLU or pooling inside. They read the
  /// same inputs and are judged on the first, once. Owned by it.
  virtual std::vector<Contender*> variants() { return {}; }
  /// Enqueues copies of the input from, and of the output to, page-locked host memory. Timed as part of a run where
  /// end_to_end() says that there is something to copy.
  virtual bool end_to_end() const { return false; }
  virtual void copy_in(Stream&) {}
  virtual void copy_out(Stream&) {}
  /// Where copy_out() writes: output_count() elements.
  virtual float* host_output() { return nullptr; }
};

}  // namespace lenslet
