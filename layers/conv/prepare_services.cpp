#include "layers/conv/prepare_services.h"

#include <algorithm>

#include "framework/statistics.h"

namespace lenslet {
namespace {

// Short work is timed in blocks of about this length, so that the clock's step and the
// launch gap do not decide.
constexpr double kBlockNs = 200e3;
constexpr int kMaxRunsInBlock = 32;
// Enough blocks for a median, fewer where one block alone takes long.
constexpr double kBudgetNs = 20e6;
constexpr int kMinBlocks = 3;
constexpr int kMaxBlocks = 15;

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

double DevicePrepareServices::time_ns(const std::function<void()>& enqueue) {
  Event begin(stream_.device()), end(stream_.device());
  const auto block_ns = [&](int runs) {
    begin.record(stream_);
    for (int i = 0; i < runs; ++i) enqueue();
    end.record(stream_);
    end.synchronize();
    return end.ns_since(begin);
  };
  block_ns(1);  // the first run loads code and touches pages
  const double once_ns = std::max(block_ns(1), 1.0);
  const int runs = static_cast<int>(std::clamp(kBlockNs / once_ns, 1.0, double{kMaxRunsInBlock}));
  const int blocks =
      static_cast<int>(std::clamp(kBudgetNs / (once_ns * runs), double{kMinBlocks}, double{kMaxBlocks}));
  std::vector<double> samples;
  for (int i = 0; i < blocks; ++i) samples.push_back(block_ns(runs) / runs);
  return summarize(samples).median;
}

void DevicePrepareServices::download(float* host, const float* device, size_t count) {
  copy_bytes(host, Device::cpu(), device, stream_.device(), count * sizeof(float), stream_);
  stream_.synchronize();
}

}  // namespace lenslet
