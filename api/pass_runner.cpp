#include "api/pass_runner.h"

#include <cmath>
#include <cstring>

#include "models/fused_lenet5/latency.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

BuildOptions pass_options(const ModelSetup& setup, int64_t batch, InputOutput pass) {
  BuildOptions build = setup.build_options(batch, pass);
  // The bus carries a few images faster than two copies can be enqueued (docs/kernels/fused_lenet.md).
  build.mapped_io =
      build.device.is_cuda() && build.execution == Plan::kFused && batch <= LatencyRunner::kMaxBatch;
  return build;
}

// Softmax's largest value, as the fused plans tell it: the first of equals, and a NaN among the logits shows.
Prediction prediction_of(const float* logits) {
  Prediction prediction;
  for (int32_t k = 1; k < kLenet5Classes; ++k) {
    if (logits[k] > logits[prediction.label]) prediction.label = k;
  }
  double probabilities[kLenet5Classes];
  softmax(logits, kLenet5Classes, probabilities);
  prediction.probability = static_cast<float>(probabilities[prediction.label]);
  return prediction;
}

}  // namespace

bool serves(InputOutput pass, InputOutput call) noexcept {
  return (pass.input == call.input || pass.input == ElementType::kFp32) &&
         (pass.output == call.output || pass.output == ElementType::kFp32);
}

PassRunner::PassRunner(const ModelSetup& setup, int64_t batch, InputOutput pass)
    : executable_(setup.graph(), pass_options(setup, batch, pass)), pass_(pass) {}

void PassRunner::run(const void* images, void* answers, InputOutput call) {
  const bool same_output = pass_.output == call.output;
  if (!same_output && logits_.empty()) logits_.resize(static_cast<size_t>(batch() * kLenet5Classes));
  void* const written = same_output ? answers : logits_.data();
  if (executable_.device().is_cuda()) {
    run_on_gpu(images, written, pass_.input == call.input);
  } else {
    run_on_cpu(images, written, pass_.input == call.input);
  }
  if (same_output) return;
  for (int64_t i = 0; i < batch(); ++i) {
    static_cast<Prediction*>(answers)[i] = prediction_of(logits_.data() + i * kLenet5Classes);
  }
}

void PassRunner::normalize(const void* images, float* out) const {
  constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
  executable_.graph().normalization().apply(static_cast<const uint8_t*>(images), batch() * kPixels, out);
}

void PassRunner::run_on_cpu(const void* images, void* answers, bool same_input) {
  ConstTensorView input = executable_.input();
  if (same_input) {
    input.data = static_cast<const float*>(images);
  } else {
    normalize(images, executable_.input().data);
  }
  TensorView output;
  output.data = static_cast<float*>(answers);
  output.shape = executable_.output().shape;
  output.type = executable_.output().type;
  executable_.run(input, output);
}

void PassRunner::run_on_gpu(const void* images, void* answers, bool same_input) {
  DeviceGuard guard(executable_.device());
  Stream& stream = executable_.stream();
  const TensorView input = executable_.input();
  const ConstTensorView output = executable_.output();
  const bool mapped = !input.device.is_cuda();
  if (!same_input && !mapped && !staging_)
    staging_ = std::make_unique<PinnedBuffer>(executable_.device(), input.bytes());
  const void* ready = images;
  if (!same_input) {
    float* const normalised = mapped ? input.data : static_cast<float*>(staging_->data());
    normalize(images, normalised);
    ready = normalised;
  }
  if (!mapped) {
    copy_bytes(input.data, executable_.device(), ready, Device::cpu(), input.bytes(), stream);
  } else if (same_input) {
    std::memcpy(input.data, images, input.bytes());
  }
  if (ran_) {
    executable_.run();
  } else {
    executable_.run_checked();  // a layer that faults does so at once, and is named
    ran_ = true;
  }
  if (!mapped) copy_bytes(answers, Device::cpu(), output.data, executable_.device(), output.bytes(), stream);
  stream.synchronize();
  if (mapped) std::memcpy(answers, output.data, output.bytes());
}

}  // namespace lenslet
