// Streams, events, copies, gates and captured graphs on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "framework/device/device.h"
#include "framework/device/runtime.h"
#include "framework/device/stream.h"
#include "framework/execution/executable.h"
#include "framework/measuring/stream_gate.h"
#include "framework/tensor/pixels.h"
#include "framework/tensor/tensor.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/expect_error.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

std::vector<unsigned char> read_back(const Buffer& buffer, Stream& stream) {
  std::vector<unsigned char> bytes(buffer.bytes());
  copy_bytes(bytes.data(), Device::cpu(), buffer.data(), buffer.device(), bytes.size(), stream);
  stream.synchronise();
  return bytes;
}

TEST(GpuTensor, CopiesThereAndBack) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Device gpu = Device::cuda();
  Stream stream(gpu);
  Tensor host({3, 5}), device({3, 5}, gpu), back({15});
  for (int i = 0; i < 15; ++i) host.data()[i] = static_cast<float>(i) + 0.5f;
  copy(host.view(), device.view(), stream);
  copy(device.view(), back.view(), stream);
  stream.synchronise();
  for (int i = 0; i < 15; ++i) EXPECT_EQ(back.data()[i], host.data()[i]);
}

TEST(GpuTensor, RunsOutOfMemoryWithNumbersAndServesAgain) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_error<MemoryError>([] { Buffer huge(Device::cuda(), size_t{1} << 45); },
                            "35184372088832 bytes needed");
  Buffer small(Device::cuda(), 1024);
  EXPECT_NE(small.data(), nullptr);
}

// The smallest number of bytes, an image, and several blocks with a part of one.
TEST(Pixels, AreUnpackedAsOnTheCpu) {
  LENSLET_SKIP_WITHOUT_GPU();
  constexpr uint8_t kCanary = 0xa5;
  const Device gpu = Device::cuda();
  Stream stream(gpu);
  for (const int64_t bytes : {8, 16, 392, 2048, 392 * 67, 392 * 1001}) {
    SCOPED_TRACE(bytes);
    std::vector<PixelPair> pairs(static_cast<size_t>(bytes));
    for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<PixelPair>((i * 157 + i / 256) & 255);
    std::vector<uint8_t> expected(2 * pairs.size());
    unpack_pixels(pairs.data(), 2 * bytes, expected.data());
    expected.resize(expected.size() + 16, kCanary);
    const PinnedBuffer pinned(gpu, pairs.size());
    std::memcpy(pinned.data(), pairs.data(), pairs.size());
    const Buffer packed(gpu, pairs.size()), pixels(gpu, expected.size());
    copy_bytes(packed.data(), gpu, pairs.data(), Device::cpu(), pairs.size(), stream);
    for (const void* const from : {packed.data(), pinned.data()}) {
      fill_bytes(pixels.data(), gpu, kCanary, pixels.bytes(), stream);
      runtime::unpack_pixels_async(from, bytes, pixels.data(), stream.native_handle());
      EXPECT_EQ(read_back(pixels, stream), expected) << (from == pinned.data() ? "over the bus" : "");
    }
  }
}

TEST(GpuStream, EventsMeasureWorkAndGatesHoldIt) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Device gpu = Device::cuda();
  Stream stream(gpu);
  Buffer buffer(gpu, size_t{256} << 20);
  Event begin(gpu), end(gpu);
  fill_bytes(buffer.data(), gpu, 1, buffer.bytes(), stream);
  stream.synchronise();
  {
    StreamGate gate(stream);
    begin.record(stream);
    fill_bytes(buffer.data(), gpu, 2, buffer.bytes(), stream);
    end.record(stream);
    gate.open();
    stream.synchronise();
  }
  const double ns = end.ns_since(begin);
  EXPECT_GT(ns, 256.0 * (1 << 20) / 20e3) << "faster than 20 TB/s: the fill did not run between the events";
  EXPECT_LT(ns, 1e9);
  EXPECT_EQ(read_back(buffer, stream).back(), 2);
}

TEST(GpuStream, CapturedWorkRunsOnlyWhenLaunched) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Device gpu = Device::cuda();
  Stream stream(gpu);
  Buffer buffer(gpu, 4096);
  fill_bytes(buffer.data(), gpu, 1, buffer.bytes(), stream);
  stream.synchronise();
  const CapturedGraph graph =
      CapturedGraph::capture(stream, [&] { fill_bytes(buffer.data(), gpu, 7, buffer.bytes(), stream); });
  EXPECT_EQ(read_back(buffer, stream)[0], 1);
  graph.launch(stream);
  EXPECT_EQ(read_back(buffer, stream)[0], 7);
}

TEST(GpuStream, AFailedCaptureLeavesTheStreamUsable) {
  LENSLET_SKIP_WITHOUT_GPU();
  Stream stream(Device::cuda());
  EXPECT_THROW(CapturedGraph::capture(stream, [] { throw DataError("inside"); }), DataError);
  EXPECT_EQ(stream.capture_id(), 0u);
  expect_error<DeviceError>([&] { CapturedGraph::capture(stream, [&] { stream.synchronise(); }); },
                            "waiting for the stream failed: cudaErrorStreamCapture");
  EXPECT_EQ(stream.capture_id(), 0u);
  Buffer buffer(Device::cuda(), 16);
  fill_bytes(buffer.data(), Device::cuda(), 3, 16, stream);
  EXPECT_EQ(read_back(buffer, stream)[15], 3);
}

TEST(GpuStream, ACaptureThatCannotBeginLeavesTheStreamUsable) {
  LENSLET_SKIP_WITHOUT_GPU();
  Stream stream = Stream::borrowed(Device::cuda(), nullptr);  // the default stream cannot be captured
  expect_error<DeviceError>([&] { CapturedGraph::capture(stream, [] {}); },
                            "cudaStreamBeginCapture failed: cudaError");
  Buffer buffer(Device::cuda(), 16);
  fill_bytes(buffer.data(), Device::cuda(), 5, 16, stream);
  EXPECT_EQ(read_back(buffer, stream)[15], 5);
}

// Copies on a GPU, and counts how often it enqueues that. `waits`: it also waits, which no capture allows.
class CopyLayer : public toys::ToyRelu {
 public:
  explicit CopyLayer(int& runs, bool waits = false) : runs_(runs), waits_(waits) {}
  std::vector<const BackendEntry*> backend_entries(DeviceKind) const override {
    static const BackendEntry entry(DeviceKind::kCuda, "copy", BackendEntry::Kind::kBuiltIn, "");
    return {&entry};
  }

 private:
  void compute(const std::vector<ConstTensorView>& inputs, TensorView output,
               RunContext& context) const override {
    ++runs_;
    copy_bytes(output.data, output.device, inputs[0].data, output.device, output.bytes(), context.stream);
    if (waits_) context.stream.synchronise();
  }
  int& runs_;
  bool waits_;
};

/// Two copies in memory of the caller; `waits`: of the second CopyLayer.
struct CopiesInCallersMemory {
  explicit CopiesInCallersMemory(bool waits) : graph("copies", "x", {4}) {
    graph.add("first", std::make_unique<CopyLayer>(runs), {"x"});
    graph.add("second", std::make_unique<CopyLayer>(runs, waits), {"first"});
    BuildOptions options;
    options.device = device;
    options.batch = 3;
    options.caller_ends = options.cuda_graph = true;
    executable = std::make_unique<Executable>(graph, options);
  }
  void pass(int i) { executable->run(inputs[i].view(), output.view(), stream); }
  /// Sends other values through each input.
  void check_passes(int round) {
    for (int i = 0; i < 2; ++i) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", input " << i);
      const float value = static_cast<float>(10 * round + i + 1);
      std::fill_n(host.data(), 12, value);
      copy(host.view(), inputs[i].view(), stream);
      pass(i);
      copy(output.view(), host.view(), stream);
      stream.synchronise();
      for (int k = 0; k < 12; ++k) ASSERT_EQ(host.data()[k], value);
    }
  }

  const Device device = Device::cuda();
  int runs = 0;
  Graph graph;
  std::unique_ptr<Executable> executable;
  Stream stream{device};
  Tensor inputs[2] = {Tensor({3, 4}, device), Tensor({3, 4}, device)};
  Tensor output = Tensor({3, 4}, device), host = Tensor({3, 4});
};

TEST(GpuGraph, APassIsCapturedForMemoryThatIsUsedAgain) {
  LENSLET_SKIP_WITHOUT_GPU();
  CopiesInCallersMemory copies(false);
  for (int round = 0; round < 4; ++round) {
    copies.check_passes(round);
    EXPECT_EQ(copies.runs, round == 0 ? 4 : 8) << "two steps each, run once and captured once";
  }
}

constexpr const char* kNotCaptured =
    "a pass of batch 3 could not be captured as a CUDA graph: layer second (copy): waiting for the stream "
    "failed: cudaErrorStreamCapture";

// The error is thrown once; later passes run step by step, also in memory that comes again, and the stream works.
TEST(GpuGraph, ACaptureThatFailsInTheMemoryOfTheCallerIsReportedOnce) {
  LENSLET_SKIP_WITHOUT_GPU();
  CopiesInCallersMemory copies(true);
  copies.pass(0);
  copies.pass(1);
  expect_error<DeviceError>([&] { copies.pass(0); }, kNotCaptured);
  EXPECT_EQ(copies.executable->stream().capture_id(), 0u);
  EXPECT_EQ(copies.stream.capture_id(), 0u);
  EXPECT_EQ(copies.runs, 6);
  for (int round = 0; round < 3; ++round) copies.check_passes(round);
  EXPECT_EQ(copies.runs, 6 + 12) << "step by step";
}

TEST(GpuGraph, TheSecondPassIsCapturedOrFailsOnce) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const bool waits : {false, true}) {
    SCOPED_TRACE(waits);
    int runs = 0;
    Graph graph("copies", "x", {4});
    graph.add("first", std::make_unique<CopyLayer>(runs), {"x"});
    graph.add("second", std::make_unique<CopyLayer>(runs, waits), {"first"});
    BuildOptions options;
    options.device = Device::cuda();
    options.batch = 3;
    options.cuda_graph = true;
    Executable executable(graph, options);
    EXPECT_TRUE(executable.will_replay());
    Tensor host({3, 4});
    const auto check_pass = [&](float value) {
      std::fill_n(host.data(), 12, value);
      copy(host.view(), executable.input(), executable.stream());
      executable.run();
      copy(executable.output(), host.view(), executable.stream());
      executable.stream().synchronise();
      for (int k = 0; k < 12; ++k) ASSERT_EQ(host.data()[k], value);
    };
    check_pass(1);
    EXPECT_EQ(runs, 2);
    EXPECT_FALSE(executable.replays()) << "memory that is used once costs nothing";
    if (waits) expect_error<DeviceError>([&] { executable.run(); }, kNotCaptured);
    EXPECT_EQ(executable.will_replay(), !waits);
    for (int round = 0; round < 3; ++round) check_pass(static_cast<float>(round + 2));
    EXPECT_EQ(executable.replays(), !waits);
    EXPECT_EQ(runs, waits ? 4 + 6 : 4) << "run once and captured once; without a capture once a pass";
    EXPECT_EQ(executable.stream().capture_id(), 0u);
  }
}

}  // namespace
}  // namespace lenslet
