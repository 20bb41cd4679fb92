#include "tests/layers/layer_fixture.h"

#include "layers/reference/guarded_run.h"
#include "layers/relu/relu_layer.h"

namespace lenslet {

OperatorRequest LayerTest::request_for(const Layer& layer, const LayerRun& run) const {
  OperatorRequest request = lenslet::request_for(layer, {run.input}, kDevice, run.math);
  request.math = run.math;  // refused by layers without products
  static const ReluLayer relu;
  if (run.fuse_relu) request.fused = {&relu};
  return request;
}

std::vector<float> LayerTest::run(const Layer& layer, const std::string& backend, const LayerRun& run) {
  const OperatorRequest request = request_for(layer, run);
  Stream stream(kDevice);
  const std::unique_ptr<Operator> op = layer.prepare(backend, request, stream);
  const reference::GuardedRun guarded = reference::run_guarded(
      stream, *op, {nullptr, run.input, kDevice}, run.x.data(), {nullptr, request.output, kDevice});
  EXPECT_EQ(guarded.fault, "") << layer.type() << " " << backend;
  return guarded.output;
}

}  // namespace lenslet
