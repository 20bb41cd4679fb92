// Loops of one thread without the others.
#pragma once

namespace lenslet {

/// While it exists, parallel_for of the thread that created it runs in that thread. Use it for a pass of some
/// microseconds, which must not wait for a loop of another caller. Destroyed by the same thread.
class SerialLoops {
 public:
  SerialLoops() noexcept;
  ~SerialLoops();
  SerialLoops(const SerialLoops&) = delete;
  SerialLoops& operator=(const SerialLoops&) = delete;

 private:
  bool before_;
};

}  // namespace lenslet
