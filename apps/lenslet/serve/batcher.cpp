#include "apps/lenslet/serve/batcher.h"

#include <exception>
#include <iterator>
#include <utility>

namespace lenslet::serve {
namespace {

std::string text_of(const std::exception& failure) {
  const std::string text = failure.what();
  return text.empty() ? "the computation failed" : text;
}

}  // namespace

Batcher::Batcher(const BatcherOptions& options, Compute compute, AtOnce at_once)
    : options_(options),
      compute_(std::move(compute)),
      at_once_(options.max_delay.count() > 0 ? AtOnce() : std::move(at_once)),
      thread_([this] { work(); }) {}

Batcher::~Batcher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  arrived_.notify_all();
  thread_.join();
}

bool Batcher::computed_at_once(const std::vector<float>& values, const Done& done) {
  std::vector<float> outputs;
  std::string error;
  try {
    if (!at_once_(values.data(), outputs)) return false;
  } catch (const std::exception& failure) {
    outputs.clear();
    error = text_of(failure);
  }
  ++single_passes_;
  done(std::move(outputs), error);
  return true;
}

bool Batcher::submit(std::vector<float> values, int64_t count, Done done) {
  if (count == 1 && at_once_ && computed_at_once(values, done)) return true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (counts_.waiting > 0 && counts_.waiting + count > options_.max_queue) {
      ++counts_.refused;
      return false;
    }
    counts_.waiting += count;
    queue_.push_back({std::move(values), count, std::move(done), std::chrono::steady_clock::now()});
  }
  arrived_.notify_one();
  return true;
}

Batcher::Counts Batcher::counts() const {
  const int64_t single = single_passes_;
  const std::lock_guard<std::mutex> lock(mutex_);
  Counts counts = counts_;
  counts.samples += single;
  counts.passes += single;
  return counts;
}

std::vector<Batcher::Request> Batcher::next_batch() {
  std::vector<Request> batch;
  std::unique_lock<std::mutex> lock(mutex_);
  arrived_.wait(lock, [&] { return ending_ || !queue_.empty(); });
  if (queue_.empty()) return batch;
  if (options_.max_delay.count() > 0) {
    arrived_.wait_until(lock, queue_.front().arrived + options_.max_delay,
                        [&] { return ending_ || counts_.waiting >= options_.max_batch; });
  }
  int64_t samples = 0;
  while (!queue_.empty() && (batch.empty() || samples + queue_.front().count <= options_.max_batch)) {
    samples += queue_.front().count;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  counts_.waiting -= samples;
  counts_.samples += samples;
  ++counts_.passes;
  return batch;
}

void Batcher::compute(std::vector<Request>& batch) {
  std::vector<float> outputs;
  std::string error;
  int64_t samples = 0;
  try {
    std::vector<float> joined;  // a request alone is read in place
    for (const Request& request : batch) {
      samples += request.count;
      if (batch.size() > 1) joined.insert(joined.end(), request.values.begin(), request.values.end());
    }
    outputs = compute_(batch.size() > 1 ? joined.data() : batch.front().values.data(), samples);
  } catch (const std::exception& failure) {
    error = text_of(failure);
  }
  const auto each = outputs.size() / static_cast<size_t>(samples > 0 ? samples : 1);
  auto first = outputs.begin();
  for (Request& request : batch) {
    std::vector<float> own;
    if (error.empty()) {
      const auto end = std::next(first, static_cast<std::ptrdiff_t>(each) * request.count);
      own.assign(first, end);
      first = end;
    }
    request.done(std::move(own), error);
  }
}

void Batcher::work() {
  for (;;) {
    std::vector<Request> batch = next_batch();
    if (batch.empty()) return;
    compute(batch);
  }
}

}  // namespace lenslet::serve
