// Stream and Event: ordered asynchronous work on one device, and points in it that can be timed.
// On the CPU work runs at once in the calling thread, and an event is a reading of the steady clock.
#pragma once

#include <memory>

#include "framework/device.h"

namespace lenslet {

/// Owns one CUDA stream (non-blocking with respect to the default stream), or stands for the CPU. Movable.
class Stream {
 public:
  /// A new one. Throws DeviceError.
  explicit Stream(Device device);
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Where its work runs.
  Device device() const noexcept { return device_; }
  /// The cudaStream_t, as void* so that no CUDA type is needed here; nullptr on the CPU.
  void* native_handle() const noexcept { return handle_; }
  /// Waits for everything enqueued; throws DeviceError when any of it failed.
  void synchronize();

 private:
  Device device_;
  void* handle_ = nullptr;
};

/// A point in a stream. Movable.
class Event {
 public:
  /// Not recorded yet. Throws DeviceError.
  explicit Event(Device device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Marks the place that the stream has reached.
  void record(Stream& stream);
  /// Waits until the stream has passed it.
  void synchronize();
  /// Nanoseconds from `earlier` to this one; both recorded and completed.
  double ns_since(const Event& earlier) const;

 private:
  Device device_;
  void* handle_ = nullptr;
  double host_ns_ = 0;
};

/// Makes `device` current for this thread until destroyed; nothing on the CPU. CUDA calls below need it.
class DeviceGuard {
 public:
  /// Makes it the current device; nothing for the CPU.
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;
};

/// Throws DeviceError where a launch of this thread failed and whoever launched it did not ask; nothing on the CPU.
void throw_on_unreported_error(Device device);

/// A captured sequence of work, replayed with one launch. CUDA only.
class CapturedGraph {
 public:
  /// Everything `enqueue` puts on `stream` becomes one CUDA graph; nothing of it runs now.
  template <typename Enqueue>
  static CapturedGraph capture(Stream& stream, Enqueue&& enqueue) {
    Capture guard(stream);
    enqueue();
    return guard.finish();
  }
  CapturedGraph() = default;
  ~CapturedGraph();
  CapturedGraph(CapturedGraph&& other) noexcept;
  CapturedGraph& operator=(CapturedGraph&& other) noexcept;
  /// Whether there is one.
  explicit operator bool() const noexcept { return exec_ != nullptr; }
  /// Enqueues one replay.
  void launch(Stream& stream) const;

 private:
  class Capture {
   public:
    explicit Capture(Stream& stream);
    ~Capture();
    CapturedGraph finish();

   private:
    Stream& stream_;
    bool open_ = true;
  };
  void* exec_ = nullptr;
};

}  // namespace lenslet
