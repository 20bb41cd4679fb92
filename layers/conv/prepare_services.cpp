#include "layers/conv/prepare_services.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "framework/base/interruption.h"
#include "framework/measuring/statistics.h"
#include "framework/measuring/stream_gate.h"

namespace lenslet {
namespace {

// Short work is timed in blocks of about this length, so that the clock's resolution and the launch gap do not matter.
constexpr double kBlockNs = 200e3;
constexpr int kMaxRunsInBlock = 32;
// Enough blocks for a median; fewer if one block takes long.
constexpr double kBudgetNs = 20e6;
constexpr int kMinBlocks = 3;
constexpr int kMaxBlocks = 15;
// One run that takes this long is enough: noise is small beside it, and more runs would hold up the caller.
constexpr double kLongRunNs = 1e9;

}  // namespace

std::shared_ptr<void> DevicePrepareServices::allocate(size_t bytes) {
  const auto buffer = std::make_shared<Buffer>(stream_.device(), bytes);
  return {buffer, buffer->data()};
}

std::shared_ptr<float> DevicePrepareServices::upload(const float* host, size_t count) {
  const auto buffer = std::make_shared<Buffer>(stream_.device(), count * sizeof(float));
  copy_bytes(buffer->data(), stream_.device(), host, Device::cpu(), count * sizeof(float), stream_);
  return {buffer, buffer->as<float>()};
}

double DevicePrepareServices::time_ns(EnqueuedWork enqueue) {
  Event begin(stream_.device()), end(stream_.device());
  // Held back until the whole block is enqueued: a call of a library takes up to 20 us of the host's time, which would
  // otherwise hide differences between short kernels.
  HeldBack held_back(stream_, timing_ == Timing::kMedian);
  const auto block_ns = [&](int runs) {
    throw_if_stopped("timing candidates");
    held_back.run([&] {
      begin.record(stream_);
      for (int i = 0; i < runs; ++i) enqueue();
      end.record(stream_);
    });
    return end.ns_since(begin);
  };
  throw_if_stopped("timing candidates");
  enqueue();  // the first run loads code and touches pages
  stream_.synchronise();
  const double once_ns = std::max(block_ns(1), 1.0);
  if (timing_ == Timing::kOnce || once_ns >= kLongRunNs) return once_ns;
  const int runs = static_cast<int>(std::clamp(kBlockNs / once_ns, 1.0, double{kMaxRunsInBlock}));
  // Times on a GPU vary less, and holding its stream back takes most of a millisecond, so few blocks are enough.
  const double max_blocks = stream_.device().is_cuda() ? kMinBlocks : kMaxBlocks;
  const int blocks =
      static_cast<int>(std::clamp(kBudgetNs / (once_ns * runs), double{kMinBlocks}, max_blocks));
  std::vector<double> samples;
  for (int i = 0; i < blocks; ++i) samples.push_back(block_ns(runs) / runs);
  return summarise(samples).median;
}

void DevicePrepareServices::download(float* host, const float* device, size_t count) {
  copy_bytes(host, Device::cpu(), device, stream_.device(), count * sizeof(float), stream_);
  stream_.synchronise();
}

}  // namespace lenslet
