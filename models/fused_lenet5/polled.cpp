#include "models/fused_lenet5/polled.h"

#include <cstring>

#include "framework/base/clock.h"
#include "framework/base/error.h"
#include "models/fused_lenet5/check_gpu.h"
#include "models/fused_lenet5/fused_lenet5.h"
#include "models/fused_lenet5/spin_wait.h"
#include "models/lenet5_sizes.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

constexpr const char* kBackend = "small";  // stores a prediction as one word
constexpr size_t kImageBytes = kLenet5Pixels;
constexpr uint64_t kNoAnswer = ~uint64_t{0};  // no prediction has these bits: a label is 0..9
constexpr double kPatienceNs = 10e6;  // of polling; then the stream, which has a time limit, is waited for
static_assert(sizeof(Prediction) == sizeof(uint64_t));

Device check_device(Device device, int64_t batch) {
  if (batch < 1 || batch > PolledLenet5::kMaxBatch) {
    throw UsageError(
        concat("latency is measured for 1 to ", PolledLenet5::kMaxBatch, " images, found ", batch));
  }
  check_gpu("latency modes need", device);
  return device;
}

}  // namespace

PolledLenet5::PolledLenet5(const Safetensors& weights, Device device, MathMode math, int64_t batch)
    : batch_(static_cast<size_t>(batch)),
      stream_(check_device(device, batch)),
      images_(device, batch_ * kImageBytes),
      answers_(device, batch_ * sizeof(Prediction)) {
  const std::unique_ptr<Layer> network = make_fused_lenet5(weights);
  const Shape shape{batch, 1, 28, 28};
  operator_ = network->prepare(
      kBackend, request_for(*network, {shape}, device, math, ElementType::kUint8, kPrediction), stream_);
  const ConstTensorView input{static_cast<const float*>(images_.data()), shape, Device::cpu(),
                              ElementType::kUint8};
  const TensorView output{static_cast<float*>(answers_.data()), {batch}, Device::cpu(), kPrediction};
  stream_.synchronise();
  graph_ = CapturedGraph::capture(stream_, [&] {
    RunContext context{stream_};
    operator_->run({input}, output, context);
  });
}

void PolledLenet5::run(const uint8_t* images, Prediction* predictions) {
  std::memcpy(images_.data(), images, images_.bytes());
  auto* const words = static_cast<uint64_t*>(answers_.data());
  for (size_t i = 0; i < batch_; ++i) store_word(words[i], kNoAnswer);
  graph_.launch(stream_);
  for (size_t i = 0; i < batch_; ++i) {
    const uint64_t word = await(words[i]);
    std::memcpy(static_cast<void*>(predictions + i), &word, sizeof word);
  }
}

std::string PolledLenet5::detail() const { return concat(kBackend, ", ", operator_->detail()); }

uint64_t PolledLenet5::await(const uint64_t& word) {
  uint64_t value = kNoAnswer;
  double began = 0;
  spin_until([&] { return (value = load_word(word)) != kNoAnswer; },
             [&] {
               const double now = host_now_ns();
               if (began == 0) began = now;
               if (now - began < kPatienceNs) return;
               stream_.synchronise();  // throws if the kernel failed or hangs
               if (load_word(word) == kNoAnswer)
                 throw DeviceError(concat(
                     "the kernel of backend ", kBackend,
                     " ended without an answer: call again, or use a Model, which waits for the stream"));
             });
  return value;
}

}  // namespace lenslet
