// Holds a backend to what it promises of its bits (framework/determinism.h).
//
// A subject is anything that computes samples in batches. The checks run it, on outputs and workspaces poisoned
// differently each time, and answer with the first broken promise in words, empty where there is none: so that the
// tests can show with planted subjects that each check sees what it is for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/determinism.h"
#include "framework/layer.h"

namespace lenslet::determinism {

using Bytes = std::vector<uint8_t>;

/// An operator prepared for one batch size, with its stream and memory of its own.
class Prepared {
 public:
  /// `input` and `output` give shapes and element types without data.
  Prepared(Device device, const ConstTensorView& input, const TensorView& output,
           const std::function<std::unique_ptr<Operator>(Stream&)>& prepare);

  /// Output bytes of input bytes: load(), enqueue(), result().
  Bytes run(const Bytes& values);
  /// Copies the input in, and poisons output and workspace differently each time.
  void load(const Bytes& values);
  /// The operator's own run(), and nothing else.
  void enqueue();
  /// Waits, and copies the output out.
  Bytes result();
  Stream& stream() noexcept { return stream_; }

 private:
  Stream stream_;
  std::unique_ptr<Operator> op_;
  Buffer input_, output_, workspace_;
  std::vector<ConstTensorView> x_;  // the one; made here, so that enqueue() allocates nothing
  TensorView y_;
};

struct Subject {
  std::string name;  // "conv2d by direct, fp32: mb1ic…"
  Determinism promise = Determinism::kBounded;
  Device device;
  std::vector<Bytes> samples;  // some distinct ones
  std::function<bool(int64_t batch)> serves;
  std::function<std::unique_ptr<Prepared>(int64_t batch)> prepare;  // where it serves
};

/// `batch` samples, the one at place i being number (first + i * 5) % samples.size().
Bytes batch_of(const Subject& subject, int64_t batch, int64_t first = 0);
/// The largest batch up to `limit` that it serves, of those that the checks try.
int64_t largest_served(const Subject& subject, int64_t limit);

/// kBounded and up: one prepared operator gives the same bits again. kBitwise and up: so does one prepared afresh.
std::string broken_repeat(const Subject& subject, int64_t batch);
/// kPosition: every sample has the bits it has alone, at every place of batches around the tiles of kernels.
std::string broken_position(const Subject& subject);
/// The first of these two.
std::string broken_promise(const Subject& subject);
/// kPosition, on the CPU: 1, 2 and 8 threads give the same bits. For no other promise: the split may change the sums.
/// Of many subjects, because threads are started for each number of them.
std::string broken_threads(const std::vector<Subject>& subjects);

/// A number that differs, all but surely, where the bits of a batch do (FNV-1a); for comparing processes.
uint64_t digest(const Subject& subject, int64_t batch);

/// Sets the number of threads until it goes out of scope.
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
