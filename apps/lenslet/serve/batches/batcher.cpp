#include "apps/lenslet/serve/batches/batcher.h"

#include <exception>
#include <utility>

#include "framework/base/start_thread.h"

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
      thread_(start_thread("a thread of the server", [this] { work(); })) {}

Batcher::~Batcher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  arrived_.notify_all();
  thread_.join();
}

bool Batcher::computed_at_once(const Samples& samples, const Receive& receive) {
  std::vector<float> outputs;
  std::string error;
  try {
    if (!at_once_(samples, outputs)) return false;
  } catch (const std::exception& failure) {
    outputs.clear();
    error = text_of(failure);
  }
  ++single_passes_;
  receive({outputs.data(), outputs.size()}, error);
  return true;
}

bool Batcher::submit(Samples samples, int64_t count, Receive receive, Executor* receiver) {
  if (count == 1 && at_once_ && computed_at_once(samples, receive)) return true;
  Requests one;
  one.push_back(
      {std::move(samples), count, std::move(receive), receiver, {}, std::chrono::steady_clock::now()});
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (counts_.waiting > 0 && counts_.waiting + count > options_.max_queue) {
      ++counts_.refused;
      return false;
    }
    counts_.waiting += count;
    queue_.splice(queue_.end(), one);
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

Batcher::Requests Batcher::next_batch() {
  Requests batch;
  std::unique_lock<std::mutex> lock(mutex_);
  arrived_.wait(lock, [&] { return ending_ || !queue_.empty(); });
  if (queue_.empty()) return batch;
  if (options_.max_delay.count() > 0) {
    arrived_.wait_until(lock, queue_.front().arrived + options_.max_delay,
                        [&] { return ending_ || counts_.waiting >= options_.max_batch; });
  }
  const bool pixels = queue_.front().samples.are_pixels();
  int64_t samples = 0;
  for (auto next = queue_.begin(); next != queue_.end();) {
    const auto request = next++;
    if (request->samples.are_pixels() != pixels) continue;
    if (!batch.empty() && samples + request->count > options_.max_batch) break;
    samples += request->count;
    batch.splice(batch.end(), queue_, request);
  }
  counts_.waiting -= samples;
  counts_.samples += samples;
  ++counts_.passes;
  return batch;
}

void Batcher::compute(Requests batch) {
  std::shared_ptr<std::vector<float>> outputs;
  std::string error;
  try {
    outputs = std::make_shared<std::vector<float>>();
    int64_t samples = 0;
    Samples joined;  // of several requests; the samples of a single one are read in place
    for (const Request& request : batch) {
      samples += request.count;
      if (batch.size() > 1) joined.append(request.samples);
    }
    *outputs = compute_(batch.size() > 1 ? joined : batch.front().samples, samples);
    const size_t each = outputs->size() / static_cast<size_t>(samples);
    const float* next = outputs->data();
    for (Request& request : batch) {
      request.outputs = {next, each * static_cast<size_t>(request.count)};
      next = request.outputs.end();
    }
  } catch (const std::exception& failure) {
    error = text_of(failure);
  }
  hand_over(std::move(batch), outputs, error);
}

/// Gives each receiver all of its requests in one task.
void Batcher::hand_over(Requests batch, const std::shared_ptr<const std::vector<float>>& outputs,
                        const std::string& error) {
  while (!batch.empty()) {
    Executor* const receiver = batch.front().receiver;
    Requests own;
    for (auto next = batch.begin(); next != batch.end();) {
      const auto request = next++;
      if (request->receiver == receiver) own.splice(own.end(), batch, request);
    }
    if (!receiver) {
      receive(own, error);
      continue;
    }
    std::shared_ptr<Requests> given;
    try {
      given = std::make_shared<Requests>();
      given->swap(own);
      receiver->run([given, outputs, error] { receive(*given, error); });
    } catch (const std::exception&) {  // no memory for the task
      receive(given ? *given : own, error);
    }
  }
}

void Batcher::receive(const Requests& requests, const std::string& error) {
  for (const Request& request : requests) request.receive(request.outputs, error);
}

void Batcher::work() {
  for (;;) {
    Requests batch = next_batch();
    if (batch.empty()) return;
    compute(std::move(batch));
  }
}

}  // namespace lenslet::serve
