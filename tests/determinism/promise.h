// Checks a backend's promise of repeated bits (framework/graph/determinism.h).
//
// A subject is anything that computes samples in batches. The checks run it with outputs and workspaces poisoned
// differently each time, and return the first broken promise, or an empty text. Planted subjects show that each check
// detects its kind of fault.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/graph/determinism.h"
#include "framework/graph/layer.h"

namespace lenslet::determinism {

using Bytes = std::vector<uint8_t>;

/// An operator prepared for one batch size, with its own stream and memory.
class Prepared {
 public:
  /// `input` and `output` have shapes and element types, but no data.
  Prepared(Device device, const ConstTensorView& input, const TensorView& output,
           const std::function<std::unique_ptr<Operator>(Stream&)>& prepare);

  /// The output bytes for these input bytes: load(), enqueue(), result().
  Bytes run(const Bytes& values);
  /// Copies the input in, and poisons output and workspace differently each time.
  void load(const Bytes& values);
  /// Only the operator's run().
  void enqueue();
  /// Synchronises and copies the output out.
  Bytes result();
  Stream& stream() noexcept { return stream_; }

 private:
  Stream stream_;
  std::unique_ptr<Operator> op_;
  Buffer input_, output_, workspace_;
  std::vector<ConstTensorView> x_;  // created here, so that enqueue() allocates nothing
  TensorView y_;
};

struct Subject {
  std::string name;  // "conv2d by direct, fp32: mb1ic…"
  Determinism promise = Determinism::kBounded;
  Device device;
  std::vector<Bytes> samples;  // some distinct ones
  std::function<bool(int64_t batch)> supports;
  std::function<std::unique_ptr<Prepared>(int64_t batch)> prepare;  // for a supported batch
};

/// `batch` samples, the one at place i being number (first + i * 5) % samples.size().
Bytes batch_of(const Subject& subject, int64_t batch, int64_t first = 0);
/// The largest tested batch, at most `limit`, that the subject supports.
int64_t largest_supported(const Subject& subject, int64_t limit);

/// kBounded and up: one prepared operator repeats its bits. kBitwise and up: so does a newly prepared one.
std::string broken_repeat(const Subject& subject, int64_t batch);
/// kPosition: a sample has the same bits alone and at every place of batches around the tiles of kernels.
std::string broken_position(const Subject& subject);
/// The first of these two promises.
std::string broken_promise(const Subject& subject);
/// kPosition, on the CPU: 1, 2 and 8 threads give the same bits. Not for other promises, whose sums may depend on the
/// split. Takes many subjects, because each number of threads starts its threads.
std::string broken_threads(const std::vector<Subject>& subjects);

/// A hash of a batch's bits (FNV-1a), to compare processes.
uint64_t digest(const Subject& subject, int64_t batch);

/// Sets the number of threads for a scope.
class ScopedThreads {
 public:
  explicit ScopedThreads(int count);
  ~ScopedThreads();
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int before_;
};

}  // namespace lenslet::determinism
