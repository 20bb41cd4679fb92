#include "models/fused_lenet5/latency.h"

#include <cstring>

#include "framework/error.h"
#include "framework/fused_model.h"
#include "framework/statistics.h"
#include "models/fused_lenet5/fused_lenet5.h"
#include "models/fused_lenet5/resident.h"
#include "models/fused_lenet5/spin_wait.h"

namespace lenslet {
namespace {

constexpr const char* kVariant = "small";  // stores a prediction as one word
constexpr size_t kImageBytes = 28 * 28;
constexpr uint64_t kNoAnswer = ~uint64_t{0};  // no prediction has these bits: a label is 0..9
constexpr double kPatienceNs =
    10e6;  // of polling the word; then it waits for the stream, which has a time limit
static_assert(sizeof(Prediction) == sizeof(uint64_t));

}  // namespace

const std::vector<LatencyMode>& latency_modes() {
  static const std::vector<LatencyMode> modes = {LatencyMode::kCopy, LatencyMode::kMapped,
                                                 LatencyMode::kPolled, LatencyMode::kResident};
  return modes;
}

const char* to_string(LatencyMode mode) {
  switch (mode) {
    case LatencyMode::kCopy:
      return "copy";
    case LatencyMode::kMapped:
      return "mapped";
    case LatencyMode::kPolled:
      return "polled";
    default:
      return "resident";
  }
}

class LatencyRunner::Way {
 public:
  virtual ~Way() = default;
  virtual void run(const uint8_t* images, Prediction* predictions) = 0;
  virtual std::string detail() const = 0;
};

/// A captured graph for each call.
class LatencyRunner::Launched : public Way {
 public:
  Launched(const Safetensors& weights, LatencyMode mode, Device device, MathMode math, int64_t batch)
      : mode_(mode),
        batch_(static_cast<size_t>(batch)),
        stream_(device),
        images_(device, batch_ * kImageBytes),
        answers_(device, batch_ * sizeof(Prediction)) {
    const std::shared_ptr<const FusedModel> model = make_fused_lenet5(weights);
    operator_ = model->prepare(kVariant, {device, batch, math, ElementType::kUint8, ElementType::kPrediction},
                               stream_);
    ConstTensorView input{
        static_cast<const float*>(images_.data()), {batch, 1, 28, 28}, Device::cpu(), ElementType::kUint8};
    TensorView output{static_cast<float*>(answers_.data()), {batch}, Device::cpu(), ElementType::kPrediction};
    if (mode == LatencyMode::kCopy) {
      device_images_ = Buffer(device, images_.bytes());
      device_answers_ = Buffer(device, answers_.bytes());
      input.data = device_images_.as<float>();
      output.data = device_answers_.as<float>();
      input.device = output.device = device;
    }
    stream_.synchronize();
    graph_ = CapturedGraph::capture(stream_, [&] {
      RunContext context{stream_};
      if (mode == LatencyMode::kCopy)
        copy_bytes(device_images_.data(), device, images_.data(), Device::cpu(), images_.bytes(), stream_);
      operator_->run({input}, output, context);
      if (mode == LatencyMode::kCopy)
        copy_bytes(answers_.data(), Device::cpu(), device_answers_.data(), device, answers_.bytes(), stream_);
    });
  }

  void run(const uint8_t* images, Prediction* predictions) override {
    std::memcpy(images_.data(), images, images_.bytes());
    auto* const words = static_cast<uint64_t*>(answers_.data());
    const bool polls = mode_ == LatencyMode::kPolled;
    for (size_t i = 0; polls && i < batch_; ++i) store_word(words[i], kNoAnswer);
    graph_.launch(stream_);
    if (!polls) stream_.synchronize();
    for (size_t i = 0; i < batch_; ++i) {
      const uint64_t word = polls ? await(words[i]) : words[i];
      std::memcpy(static_cast<void*>(predictions + i), &word, sizeof word);
    }
  }
  std::string detail() const override { return concat(kVariant, ", ", operator_->detail()); }

 private:
  uint64_t await(const uint64_t& word) {
    uint64_t value = kNoAnswer;
    double began = 0;
    spin_until([&] { return (value = load_word(word)) != kNoAnswer; },
               [&] {
                 const double now = host_now_ns();
                 if (began == 0) began = now;
                 if (now - began < kPatienceNs) return;
                 stream_.synchronize();  // throws if the kernel failed or hangs
                 if (load_word(word) == kNoAnswer) throw DeviceError("the kernel ended without an answer");
               });
    return value;
  }

  LatencyMode mode_;
  size_t batch_;
  Stream stream_;
  PinnedBuffer images_, answers_;
  Buffer device_images_, device_answers_;
  std::unique_ptr<Operator> operator_;
  CapturedGraph graph_;
};

class LatencyRunner::Resident : public Way {
 public:
  Resident(const Safetensors& weights, Device device, int64_t batch)
      : batch_(batch), kernel_(weights, options(device)) {}
  void run(const uint8_t* images, Prediction* predictions) override {
    kernel_.classify(images, batch_, predictions);
  }
  std::string detail() const override {
    return concat("resident, a cluster of ", kernel_.blocks(), " blocks");
  }

 private:
  static ResidentOptions options(Device device) {
    ResidentOptions options;
    options.device = device;
    return options;
  }
  int64_t batch_;
  ResidentLenet5 kernel_;
};

LatencyRunner::LatencyRunner(const Safetensors& weights, LatencyMode mode, Device device, MathMode math,
                             int64_t batch) {
  if (batch < 1 || batch > kMaxBatch) {
    throw UsageError(concat("latency is measured for 1 to ", kMaxBatch, " images, asked for ", batch));
  }
  if (!cuda_status().usable) throw UnavailableError("latency modes need a GPU: " + cuda_status().reason);
  if (!device.is_cuda()) throw UnavailableError("latency modes need a GPU, asked for " + device.to_string());
  if (mode != LatencyMode::kResident) {
    way_ = std::make_unique<Launched>(weights, mode, device, math, batch);
    return;
  }
  if (math != MathMode::kFp32) {
    throw UnavailableError(concat("a resident kernel computes in fp32, asked for ", to_string(math)));
  }
  way_ = std::make_unique<Resident>(weights, device, batch);
}
LatencyRunner::~LatencyRunner() = default;
void LatencyRunner::run(const uint8_t* images, Prediction* predictions) { way_->run(images, predictions); }
std::string LatencyRunner::detail() const { return way_->detail(); }

}  // namespace lenslet
