#include "api/device_set.h"

#include <algorithm>
#include <chrono>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/base/text.h"
#include "framework/device/device_health.h"
#include "framework/device/near_processors.h"

namespace lenslet {
namespace {

// The longest time between two calls of `progress`, also while no image is answered: its caller can end the call.
constexpr std::chrono::milliseconds kProgressInterval(100);

}  // namespace

DeviceSet::Member::Member(Device its_device, int count)
    : device(its_device), threads(count, processors_near(its_device)) {
  try {
    throw_if_device_lost(device);
  } catch (const DeviceError& error) {
    lost = true;
    fault = error.what();
  }
}

DeviceSet::DeviceSet(const std::vector<Device>& devices)
    : threads_(std::clamp(num_threads() / static_cast<int>(devices.size()), 1, Feed::kMaxLanes)) {
  for (const Device device : devices) members_.push_back(std::make_unique<Member>(device, threads_));
}

std::vector<DeviceShare> DeviceSet::shares() const {
  std::vector<DeviceShare> shares;
  for (const auto& member : members_) shares.push_back({member->device, member->images, member->fault});
  return shares;
}

bool DeviceSet::attempt(Member& member, const std::function<void()>& body) {
  const SparesProcess others_remain;
  const auto fails = [&](const Error& error, bool lost) {
    const std::lock_guard<std::mutex> lock(mutex_);
    member.off = true;
    // The first thread that fails has the cause.
    if (!member.lost) member.fault = error.what();
    member.lost = member.lost || lost;
    return false;
  };
  try {
    body();
    return true;
  } catch (const DeviceError& error) {
    return fails(error, true);
  } catch (const MemoryError& error) {
    return fails(error, false);
  }
}

void DeviceSet::near(size_t i, const std::function<void()>& body) {
  OwnThreads& threads = members_[i]->threads;
  std::exception_ptr failure;
  threads.start([&](int thread) {
    if (thread != 0) return;
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  threads.wait();
  if (failure) std::rethrow_exception(failure);
}

std::vector<bool> DeviceSet::on_each(const std::function<void(size_t)>& body) {
  std::vector<bool> done(size(), false);
  for (size_t i = 0; i < size(); ++i) {
    Member& member = *members_[i];
    if (member.lost) continue;
    near(i, [&] { done[i] = attempt(member, [&] { body(i); }); });
  }
  return done;
}

int64_t DeviceSet::on_one(const std::function<int64_t(size_t)>& body) {
  for (size_t i = 0; i < size(); ++i) {
    Member& member = *members_[i];
    int64_t images = 0;
    if (member.lost || !attempt(member, [&] { images = body(i); })) continue;
    member.images += images;
    return images;
  }
  throw_nothing_left();
}

void DeviceSet::throw_nothing_left() const {
  std::string reasons;
  bool lost = false;
  for (const auto& member : members_) {
    add_clause(reasons, concat(member->device.to_string(), ": ", member->fault));
    lost = lost || member->lost;
  }
  const std::string message = "every device failed: " + reasons;
  if (!lost) throw MemoryError(message);
  if (device_lost()) report_device_lost();
  throw DeviceError(message);
}

class DeviceSet::Serving {
 public:
  Serving(DeviceSet& set, const std::vector<Feed*>& feeds, const SharedCall& call)
      : set_(set), feeds_(feeds) {
    try {
      for (size_t i = 0; i < feeds.size(); ++i) {
        if (!feeds[i]) continue;
        Member& member = *set.members_[i];
        Feed& feed = *feeds[i];
        member.off = false;
        member.threads.start([&set, &member, &feed, &call](int thread) {
          serve(set, member, feed, call, thread);
          call.chunks.leave();
        });
        started_ = i + 1;
      }
    } catch (...) {
      end();
      throw;
    }
  }
  ~Serving() { end(); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  /// Waits for the threads, which take no more chunks.
  void end() {
    set_.chunks_.stop();
    for (size_t i = 0; i < started_; ++i) {
      if (feeds_[i]) set_.members_[i]->threads.wait();
    }
  }

 private:
  // In a thread of the member.
  static void serve(DeviceSet& set, Member& member, Feed& feed, const SharedCall& call, int thread) {
    try {
      set.attempt(member, [&] {
        const int lanes = feed.threads();
        const bool all = feed.reads_in_place(call.images, call.types.input);
        if (thread >= (all ? 1 : lanes)) return;
        const bool last = all || thread + 1 == member.threads.count();
        feed.serve(thread, last ? lanes : thread + 1, call, member.off,
                   [&member](Chunk landed) { member.images += landed.images; });
      });
    } catch (...) {
      {
        const std::lock_guard<std::mutex> lock(set.mutex_);
        if (!set.fatal_) set.fatal_ = std::current_exception();
      }
      call.chunks.stop();
    }
  }

  DeviceSet& set_;
  const std::vector<Feed*>& feeds_;
  size_t started_ = 0;
};

int64_t DeviceSet::run(const std::vector<Feed*>& feeds, const void* images, int64_t count, Answers answers,
                       InputOutput types, const Progress& progress) {
  int64_t lanes = 0, max_batch = INT64_MAX;
  int workers = 0;
  for (Feed* const feed : feeds) {
    if (!feed) continue;
    lanes += feed->threads();
    max_batch = std::min(max_batch, feed->batch());
    workers += threads_;
  }
  if (workers == 0) throw_nothing_left();
  if (progress && !progress(0)) return 0;
  fatal_ = nullptr;
  chunks_.begin(count, Feed::chunk_size(count, lanes, max_batch), workers);
  int64_t reported = 0;
  bool ended = false;
  const auto report = [&] {
    const int64_t now = chunks_.in_order();
    if (ended && now == reported) return;
    reported = now;
    if (!progress || progress(reported)) return;
    ended = true;
    chunks_.stop();
  };
  const SharedCall call{images, answers, types, chunks_};
  {
    Serving serving(*this, feeds, call);
    while (chunks_.watch(reported, kProgressInterval)) report();
    serving.end();
  }
  const int64_t done = chunks_.in_order();
  if (done > reported) report();
  if (fatal_) std::rethrow_exception(fatal_);
  if (done < count && !ended) throw_nothing_left();
  return done;
}

}  // namespace lenslet
