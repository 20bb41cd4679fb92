// The planted faults of both tests of run().
#pragma once

#include <memory>

#include "layers/relu/relu_layer.h"
#include "tests/determinism/subjects.h"
#include "tests/support/planted_faults.h"

namespace lenslet {

/// ReLU's backend `direct` with the fault, on that device, as a subject called "planted".
inline determinism::Subject relu_with(const Fault& fault, Device device) {
  static const ReluLayer relu;
  const OperatorRequest request = request_for(relu, {{1, 1000}}, device, MathMode::kFp32);
  determinism::Subject subject = determinism::layer_subject(relu, "direct", request, 2, 1);
  subject.name = "planted";
  subject.prepare = [request, fault](int64_t) {
    return std::make_unique<determinism::Prepared>(
        request.device, ConstTensorView{nullptr, request.inputs[0], request.device},
        TensorView{nullptr, request.output, request.device},
        [&](Stream& stream) { return with_fault(relu.prepare("direct", request, stream), fault); });
  };
  return subject;
}

}  // namespace lenslet
