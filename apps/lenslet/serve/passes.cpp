#include "apps/lenslet/serve/passes.h"

#include <algorithm>
#include <vector>

namespace lenslet::serve {
namespace {

constexpr int64_t kStep = 4;  // between the sizes of passes

void run_zeros(Model& model, ElementType input, int64_t count) {
  const auto inputs = static_cast<size_t>(count * model.input_shape().num_elements());
  std::vector<float> outputs(static_cast<size_t>(count * model.output_shape().num_elements()));
  if (input == ElementType::kUint8) {
    model.run(std::vector<uint8_t>(inputs).data(), count, outputs.data());
  } else {
    model.run(std::vector<float>(inputs).data(), count, outputs.data());
  }
}

}  // namespace

Passes::Passes(const Session& session, ElementType input, int64_t most)
    : input_values_(session.graph().input_shape().num_elements()),
      output_values_(session.graph().output_shape().num_elements()) {
  std::vector<int64_t> sizes = {most};
  for (int64_t size = 1; size < most; size *= kStep) sizes.push_back(size);
  std::sort(sizes.rbegin(), sizes.rend());
  for (const int64_t size : sizes) {
    BuildOptions build = session.call_options(size, {input, ElementType::kFp32});
    if (!models_.empty()) build.plan = &plan();  // the same backends, so that the same bits
    Model& model = models_.emplace(size, session.model(build)).first->second;
    model.prepare();
    run_zeros(model, input, size);
    if (model.executable().will_replay()) run_zeros(model, input, size);  // it captures
    same_bits_ = same_bits_ && model.executable().determinism() == Determinism::kPosition;
  }
}

}  // namespace lenslet::serve
