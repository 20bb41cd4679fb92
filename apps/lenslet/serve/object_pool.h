// ObjectPool: objects that several threads use, each by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lenslet::serve {

/// Thread-safe but for add().
template <typename One>
class ObjectPool {
 public:
  void add(One one) { places_.push_back(std::make_unique<Place>(std::move(one))); }
  bool empty() const noexcept { return places_.empty(); }

  /// Calls use(one) with a free one, or returns false. A thread first tries the one that it used last: its memory is in
  /// the cache of that core, and threads do not all begin at the same one.
  template <typename Use>
  bool with_free(const Use& use) {
    size_t& last = last_of_this_thread();
    for (size_t i = 0; i < places_.size(); ++i) {
      const size_t at = (last + i) % places_.size();
      if (places_[at]->taken.exchange(true, std::memory_order_acquire)) continue;
      struct Release {
        std::atomic<bool>& taken;
        ~Release() { taken.store(false, std::memory_order_release); }
      } const release{places_[at]->taken};
      last = at;
      use(places_[at]->one);
      return true;
    }
    return false;
  }

 private:
  struct alignas(64) Place {
    explicit Place(One its_one) : one(std::move(its_one)) {}
    One one;
    std::atomic<bool> taken{false};
  };
  static size_t& last_of_this_thread() {
    static std::atomic<size_t> threads{0};
    thread_local size_t last = threads.fetch_add(1, std::memory_order_relaxed);
    return last;
  }
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace lenslet::serve
