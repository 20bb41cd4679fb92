#include "tests/layers/layer_fixture.h"

#include <algorithm>
#include <cmath>
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
  const size_t skipped = static_cast<size_t>(run.shift) * sizeof(float);
  GuardedMemory memory(
      device_, {skipped + run.input.bytes(), skipped + request.output.bytes(), op->workspace_bytes()});
  const auto begin_of = [&](size_t block) { return static_cast<float*>(memory.block(block)) + run.shift; };
  std::vector<float> x(static_cast<size_t>(run.shift), NAN);
  x.insert(x.end(), run.x.begin(), run.x.end());
  std::vector<float> results[2];
  const int patterns[2] = {GuardedMemory::kNanByte, GuardedMemory::kMarkByte};
  for (int i = 0; i < 2; ++i) {
    memory.poison(patterns[i], stream);
    memory.upload(0, x.data(), stream);
    RunContext context{stream, memory.block(2), nullptr};
    op->run({{begin_of(0), run.input, device_}}, {begin_of(1), request.output, device_}, context);
    std::vector<float> after(x.size()),
        y(skipped / sizeof(float) + static_cast<size_t>(request.output.num_elements()));
    memory.download(1, y.data(), stream);
    const std::vector<unsigned char> before(skipped, static_cast<unsigned char>(patterns[i]));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), reinterpret_cast<const unsigned char*>(y.data())))
        << layer.type() << " " << backend << " wrote before its output";
    results[i].assign(y.begin() + run.shift, y.end());
    EXPECT_EQ(memory.damage(patterns[i], stream), "") << layer.type() << " " << backend;
    memory.download(0, after.data(), stream);
    EXPECT_EQ(std::memcmp(after.data(), x.data(), x.size() * sizeof(float)), 0)
        << layer.type() << " " << backend << " changed its input";
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), request.output.bytes()), 0)
      << layer.type() << " " << backend << ": two runs differ";
  return results[1];
}

}  // namespace lenslet
