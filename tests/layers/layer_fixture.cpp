#include "tests/layers/layer_fixture.h"

#include <cstring>

#include "layers/reference/guarded_memory.h"

namespace lenslet {

using reference::GuardedMemory;

LayerTest::LayerTest() : device_{LENSLET_TEST_DEVICE, 0} {}

void LayerTest::SetUp() {
  if (device_.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
}

OperatorRequest LayerTest::request_for(const Layer& layer, const LayerRun& run) const {
  OperatorRequest request;
  request.device = device_;
  request.inputs = {run.input};
  request.output = layer.infer_shape({run.input});
  request.math = run.math;
  request.fuse_relu = run.fuse_relu;
  return request;
}

std::vector<float> LayerTest::run(const Layer& layer, const std::string& backend, const LayerRun& run) {
  const OperatorRequest request = request_for(layer, run);
  Stream stream(device_);
  const std::unique_ptr<Operator> op = with_fault(layer.prepare(backend, request, stream), fault_);
  GuardedMemory memory(device_, {run.input.bytes(), request.output.bytes(), op->workspace_bytes()});
  std::vector<float> results[2];
  const int patterns[2] = {GuardedMemory::kNanByte, GuardedMemory::kMarkByte};
  for (int i = 0; i < 2; ++i) {
    memory.poison(patterns[i], stream);
    memory.upload(0, run.x.data(), stream);
    RunContext context{stream, memory.block(2), nullptr};
    op->run({{static_cast<const float*>(memory.block(0)), run.input, device_}},
            {static_cast<float*>(memory.block(1)), request.output, device_}, context);
    results[i].resize(static_cast<size_t>(request.output.num_elements()));
    memory.download(1, results[i].data(), stream);
    EXPECT_EQ(memory.damage(patterns[i], stream), "") << layer.type() << " " << backend;
    std::vector<float> after(run.x.size());
    memory.download(0, after.data(), stream);
    EXPECT_EQ(std::memcmp(after.data(), run.x.data(), run.input.bytes()), 0)
        << layer.type() << " " << backend << " changed its input";
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), request.output.bytes()), 0)
      << layer.type() << " " << backend << ": two runs differ";
  return results[1];
}

}  // namespace lenslet
