#include "tests/determinism/promise.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/tensor.h"

namespace lenslet::determinism {
namespace {

// Full tiles and their tails: of 2, 4, 8, 16, 32 and 64 images, and of many blocks.
constexpr int64_t kBatches[] = {2, 3, 7, 64, 65, 1000};

int64_t sample_at(const Subject& subject, int64_t place, int64_t first) {
  return (first + place * 5) % static_cast<int64_t>(subject.samples.size());
}

Bytes run_once(const Subject& subject, int64_t batch) {
  return subject.prepare(batch)->run(batch_of(subject, batch));
}

}  // namespace

Prepared::Prepared(Device device, const ConstTensorView& input, const TensorView& output,
                   const std::function<std::unique_ptr<Operator>(Stream&)>& prepare)
    : stream_(device),
      op_(prepare(stream_)),
      input_(device, input.bytes()),
      output_(device, output.bytes()),
      workspace_(device, op_->workspace_bytes()),
      x_({input}),
      y_(output) {
  x_[0].data = input_.as<float>();
  y_.data = output_.as<float>();
}

Bytes Prepared::run(const Bytes& values) {
  load(values);
  enqueue();
  return result();
}

void Prepared::load(const Bytes& values) {
  const Device device = stream_.device();
  if (values.size() != input_.bytes()) throw DataError("the batch does not fit the subject");
  copy_bytes(input_.data(), device, values.data(), Device::cpu(), values.size(), stream_);
  // Two kinds of NaN and plain numbers in turn: reads of unwritten memory change the result.
  static std::atomic<unsigned> turn{0};
  const int poison = std::array<int, 3>{kNanByte, 0x7f, 0x3c}[turn++ % 3];
  fill_bytes(output_.data(), device, poison, output_.bytes(), stream_);
  if (workspace_.bytes() > 0) fill_bytes(workspace_.data(), device, poison, workspace_.bytes(), stream_);
}

void Prepared::enqueue() {
  RunContext context{stream_, workspace_.data(), nullptr};
  op_->run(x_, y_, context);
}

Bytes Prepared::result() {
  Bytes bytes(output_.bytes());
  copy_bytes(bytes.data(), Device::cpu(), output_.data(), stream_.device(), bytes.size(), stream_);
  stream_.synchronise();
  return bytes;
}

Bytes batch_of(const Subject& subject, int64_t batch, int64_t first) {
  Bytes values;
  for (int64_t place = 0; place < batch; ++place) {
    const Bytes& sample = subject.samples[static_cast<size_t>(sample_at(subject, place, first))];
    values.insert(values.end(), sample.begin(), sample.end());
  }
  return values;
}

int64_t largest_supported(const Subject& subject, int64_t limit) {
  int64_t largest = 1;
  for (const int64_t batch : kBatches) {
    if (batch <= limit && subject.supports(batch)) largest = batch;
  }
  return largest;
}

std::string broken_repeat(const Subject& subject, int64_t batch) {
  const Bytes values = batch_of(subject, batch);
  const std::unique_ptr<Prepared> prepared = subject.prepare(batch);
  const Bytes first = prepared->run(values);
  if (prepared->run(values) != first) {
    return concat(subject.name, ", batch ", batch, ": a second run differs from the first");
  }
  if (subject.promise >= Determinism::kBitwise && subject.prepare(batch)->run(values) != first) {
    return concat(subject.name, ", batch ", batch, ": prepared afresh it gives other bits");
  }
  return {};
}

std::string broken_position(const Subject& subject) {
  if (subject.promise < Determinism::kPosition) return {};
  std::vector<Bytes> alone;
  const std::unique_ptr<Prepared> single = subject.prepare(1);
  for (const Bytes& sample : subject.samples) alone.push_back(single->run(sample));
  for (const int64_t batch : kBatches) {
    if (!subject.supports(batch)) continue;
    const std::unique_ptr<Prepared> prepared = subject.prepare(batch);
    for (const int64_t first : {int64_t{0}, int64_t{1}}) {  // each place sees two samples
      const Bytes results = prepared->run(batch_of(subject, batch, first));
      for (int64_t place = 0; place < batch; ++place) {
        const int64_t which = sample_at(subject, place, first);
        const Bytes& expected = alone[static_cast<size_t>(which)];
        const auto found = results.begin() + place * static_cast<int64_t>(expected.size());
        if (!std::equal(expected.begin(), expected.end(), found)) {
          return concat(subject.name, ": sample ", which, " at place ", place, " of ", batch,
                        " differs from the same sample alone");
        }
      }
    }
  }
  return {};
}

std::string broken_promise(const Subject& subject) {
  for (const int64_t batch : {int64_t{1}, largest_supported(subject, 7)}) {
    if (std::string broken = broken_repeat(subject, batch); !broken.empty()) return broken;
  }
  return broken_position(subject);
}

std::string broken_threads(const std::vector<Subject>& subjects) {
  std::vector<Bytes> expected;
  for (const int threads : {1, 2, 8}) {
    const ScopedThreads scope(threads);
    for (size_t i = 0; i < subjects.size(); ++i) {
      const Subject& subject = subjects[i];
      const bool promised = subject.promise >= Determinism::kPosition && !subject.device.is_cuda();
      const int64_t batch = largest_supported(subject, 65);
      Bytes found = promised ? run_once(subject, batch) : Bytes();
      if (threads == 1) {
        expected.push_back(std::move(found));
      } else if (found != expected[i]) {
        return concat(subject.name, ", batch ", batch, ": ", threads, " threads give other bits than 1");
      }
    }
  }
  return {};
}

uint64_t digest(const Subject& subject, int64_t batch) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint8_t byte : run_once(subject, batch)) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

ScopedThreads::ScopedThreads(int count) : before_(num_threads()) { set_num_threads(count); }
ScopedThreads::~ScopedThreads() { set_num_threads(before_); }

}  // namespace lenslet::determinism
