#include "framework/device/stream.h"

#include <utility>

#include "framework/base/clock.h"
#include "framework/device/runtime.h"

namespace lenslet {

DeviceGuard::DeviceGuard(Device device) {
  if (!device.is_cuda()) return;
  const int previous = runtime::set_device(device.ordinal);
  if (previous != device.ordinal) previous_ = previous;
}

DeviceGuard::~DeviceGuard() {
  if (previous_ >= 0) runtime::restore_device(previous_);
}

void throw_on_unreported_error(Device device) {
  if (device.is_cuda()) runtime::throw_on_unreported_error();
}

Stream::Stream(Device device) : device_(device) {
  if (!device.is_cuda()) return;
  DeviceGuard guard(device);
  handle_ = runtime::create_stream();
}

Stream Stream::borrowed(Device device, void* handle) noexcept {
  Stream stream;
  stream.device_ = device;
  stream.handle_ = handle ? handle : runtime::default_stream();
  stream.owned_ = false;
  return stream;
}

Stream::~Stream() {
  if (handle_ && owned_) runtime::destroy_stream(handle_);
}

Stream::Stream(Stream&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)), owned_(other.owned_) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(owned_, other.owned_);
  return *this;
}

void Stream::synchronise() {
  if (handle_) runtime::synchronise_stream(handle_);
}

void Stream::wait_for(const Event& event) {
  if (handle_) runtime::wait_event(handle_, event.handle_);
}

uint64_t Stream::capture_id() const { return handle_ ? runtime::capture_id(handle_) : 0; }

Event::Event(Device device) : device_(device) {
  if (!device.is_cuda()) return;
  DeviceGuard guard(device);
  handle_ = runtime::create_event();
}

Event::~Event() {
  if (handle_) runtime::destroy_event(handle_);
}

Event::Event(Event&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)), host_ns_(other.host_ns_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(host_ns_, other.host_ns_);
  return *this;
}

void Event::record(Stream& stream) {
  if (handle_) {
    runtime::record_event(handle_, stream.native_handle());
  } else {
    host_ns_ = host_now_ns();
  }
}

void Event::synchronise() {
  if (handle_) runtime::synchronise_event(handle_);
}

double Event::ns_since(const Event& earlier) const {
  return handle_ ? runtime::elapsed_ns(earlier.handle_, handle_) : host_ns_ - earlier.host_ns_;
}

CapturedGraph::~CapturedGraph() {
  if (exec_) runtime::destroy_graph(exec_);
}

CapturedGraph::CapturedGraph(CapturedGraph&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}

CapturedGraph& CapturedGraph::operator=(CapturedGraph&& other) noexcept {
  std::swap(exec_, other.exec_);
  return *this;
}

void CapturedGraph::launch(Stream& stream) const { runtime::launch_graph(exec_, stream.native_handle()); }

CapturedGraph::Capture::Capture(Stream& stream) : stream_(stream) {
  runtime::begin_capture(stream.native_handle());
}

CapturedGraph::Capture::~Capture() {
  if (open_) (void)runtime::end_capture(stream_.native_handle(), true);
}

CapturedGraph CapturedGraph::Capture::finish() {
  open_ = false;
  CapturedGraph graph;
  graph.exec_ = runtime::end_capture(stream_.native_handle(), false);
  return graph;
}

}  // namespace lenslet
