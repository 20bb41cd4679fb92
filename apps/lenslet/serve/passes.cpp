#include "apps/lenslet/serve/passes.h"

#include <algorithm>
#include <chrono>

#include "framework/tensor/pixels.h"

namespace lenslet::serve {
namespace {

constexpr int64_t kStep = 4;  // between the sizes of passes
constexpr int kTimedRuns = 5;

/// Runs the model `times` times on random images (on zeros a GPU's clock is higher). Returns the shortest time, µs.
double run_random(Model& model, ElementType input, int64_t count, int times) {
  using Clock = std::chrono::steady_clock;
  const int64_t inputs = count * model.input_shape().num_elements();
  const bool bytes = input == ElementType::kUint8;
  const std::vector<uint8_t> pixels = random_pixels(inputs, 1);
  std::vector<float> values(bytes ? 0 : static_cast<size_t>(inputs));
  if (!bytes) model.normalisation().apply(pixels.data(), inputs, values.data());
  std::vector<float> outputs(static_cast<size_t>(count * model.output_shape().num_elements()));
  auto shortest = Clock::duration::max();
  for (int i = 0; i < times; ++i) {
    const auto began = Clock::now();
    if (bytes) {
      model.run(pixels.data(), count, outputs.data());
    } else {
      model.run(values.data(), count, outputs.data());
    }
    shortest = std::min(shortest, Clock::now() - began);
  }
  return std::chrono::duration<double, std::micro>(shortest).count();
}

}  // namespace

Passes::Passes(const Session& session, ElementType input, int64_t max_samples)
    : input_values_(session.graph().input_shape().num_elements()),
      output_values_(session.graph().output_shape().num_elements()) {
  std::vector<int64_t> sizes = {max_samples};
  for (int64_t size = 1; size < max_samples; size *= kStep) sizes.push_back(size);
  std::sort(sizes.rbegin(), sizes.rend());
  const bool on_gpu = session.device().is_cuda();
  for (const int64_t size : sizes) {
    BuildOptions build = session.setup().call_options(size, {input, ElementType::kFp32});
    if (!models_.empty()) build.plan = &plan();  // the same backends, so that the same bits
    Model& model = models_.emplace(size, session.model(build)).first->second;
    model.prepare();
    run_random(model, input, size, 1);
    if (model.executable().will_replay()) run_random(model, input, size, 1);  // it captures
    // A CPU's time grows with the samples. A GPU's hardly does for few samples: launches and copies dominate.
    const double time_us = on_gpu ? run_random(model, input, size, kTimedRuns) : static_cast<double>(size);
    times_.push_back({size, time_us});
    same_bits_ = same_bits_ && model.executable().determinism() == Determinism::kPosition;
  }
}

}  // namespace lenslet::serve
