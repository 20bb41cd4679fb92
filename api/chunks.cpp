#include "api/chunks.h"

#include <algorithm>

#include "framework/base/integer_math.h"

namespace lenslet {

void Chunks::begin(int64_t total, int64_t size, int workers) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto chunks = static_cast<size_t>(ceil_div(total, size));
  total_ = total;
  size_ = size;
  workers_ = workers;
  stopped_ = false;
  next_ = landed_chunks_ = first_missing_ = 0;
  landed_.assign(chunks, false);
  given_back_.clear();
  given_back_.reserve(chunks);
}

bool Chunks::next(Chunk& chunk) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return false;
  if (!given_back_.empty()) {
    chunk = given_back_.back();
    given_back_.pop_back();
    return true;
  }
  if (next_ >= total_) return false;
  chunk = {next_, std::min(size_, total_ - next_)};
  next_ += chunk.images;
  return true;
}

bool Chunks::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto may_take = [&] { return next_ < total_ || !given_back_.empty(); };
  changed_.wait(lock, [&] { return stopped_ || all_landed() || may_take(); });
  return !stopped_ && may_take();
}

void Chunks::land(Chunk chunk) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    landed_[static_cast<size_t>(chunk.first / size_)] = true;
    ++landed_chunks_;
    while (first_missing_ < static_cast<int64_t>(landed_.size()) &&
           landed_[static_cast<size_t>(first_missing_)])
      ++first_missing_;
  }
  changed_.notify_all();
}

void Chunks::give_back(Chunk chunk) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    given_back_.push_back(chunk);
  }
  changed_.notify_all();
}

void Chunks::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

void Chunks::leave() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --workers_;
  }
  changed_.notify_all();
}

bool Chunks::watch(int64_t reported, std::chrono::milliseconds at_most) {
  std::unique_lock<std::mutex> lock(mutex_);
  const int before = workers_;
  changed_.wait_for(lock, at_most,
                    [&] { return workers_ < before || workers_ == 0 || images_in_order() > reported; });
  return workers_ > 0;
}

int64_t Chunks::in_order() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return images_in_order();
}

int64_t Chunks::images_in_order() const { return std::min(total_, first_missing_ * size_); }

}  // namespace lenslet
