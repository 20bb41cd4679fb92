// GPU matrix products by cuBLAS against plain fp64: transposes, steps, batches, alpha and beta, true fp32, capture.
#include <gtest/gtest.h>

#include "framework/device/stream.h"
#include "framework/gpu_side.h"
#include "framework/tensor/poison.h"
#include "layers/gemm/gemm_backend.h"
#include "layers/gemm/gpu/bias_rectifier.h"
#include "layers/reference/fill.h"
#include "layers/reference/gemm_subject.h"
#include "layers/reference/guarded_memory.h"
#include "tests/conv/refusals.h"
#include "tests/layers/layer_fixture.h"
#include "tests/layers/layer_problems.h"
#include "tests/support/host_values.h"

namespace lenslet {
namespace {

using reference::gemm_problem;
using reference::GemmSubject;
using reference::GuardedMemory;
using reference::with_slack;

class CublasGemm : public testing::Test {
 protected:
  void SetUp() override {
    LENSLET_SKIP_WITHOUT_GPU();
    try {
      backend_ = &gemm_backend(DeviceKind::kCuda);
    } catch (const UnavailableError& error) {
      if (kHasCublas) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
    stream_ = std::make_unique<Stream>(Device::cuda());
  }

  void check(const GemmProblem& problem, MathMode math = MathMode::kFp32) {
    const GemmSubject subject(problem);
    const VerifyResult result = subject.verify("cublas", math, *stream_);
    EXPECT_TRUE(result.passed) << subject.problem() << ": " << result.reason;
  }

  static float* block(const GuardedMemory& memory, size_t index) {
    return static_cast<float*>(memory.block(index));
  }

  const GemmBackend* backend_ = nullptr;
  std::unique_ptr<Stream> stream_;
};

TEST_F(CublasGemm, AgreesWithFp64) {
  for (int m : {1, 6, 17, 64}) {
    for (int n : {1, 16, 61, 576}) {
      for (int k : {1, 25, 150}) {
        for (int transposes = 0; transposes < 4; ++transposes) {
          for (const int slack : {0, 3})
            check(with_slack(gemm_problem(m, n, k, (transposes & 1) != 0, (transposes & 2) != 0), slack));
        }
      }
    }
  }
}

TEST_F(CublasGemm, ScalesAndAdds) {
  for (int transposes = 0; transposes < 4; ++transposes) {
    GemmProblem p = with_slack(gemm_problem(33, 65, 40, (transposes & 1) != 0, (transposes & 2) != 0), 5);
    p.alpha = -1.5f;
    p.beta = 0.25f;
    check(p);
  }
}

TEST_F(CublasGemm, MultipliesBatches) {
  for (const GemmProblem& problem : gemm_batches()) check(problem);
}

TEST_F(CublasGemm, TensorCoresOnlyForTf32) {
  check(gemm_problem(128, 256, 512));
  check(gemm_problem(128, 256, 512), MathMode::kTf32);
  check(gemm_problem(128, 256, 64), MathMode::kTf32);
  const Support fp16 = backend_->supports(MathMode::kFp16);
  EXPECT_FALSE(fp16);
  EXPECT_EQ(lacks(fp16.reason()), "");
}

TEST_F(CublasGemm, CanBeCaptured) {
  const GemmProblem p = gemm_problem(64, 32, 48);
  const std::unique_ptr<Gemm> gemm = backend_->prepare(MathMode::kFp32, *stream_);
  const std::vector<float> a = reference::small_integers(64 * 48, 1),
                           b = reference::small_integers(48 * 32, 2);
  Buffer device_a(Device::cuda(), a.size() * 4), device_b(Device::cuda(), b.size() * 4),
      device_c(Device::cuda(), 64 * 32 * 4), workspace(Device::cuda(), gemm->workspace_bytes());
  copy_bytes(device_a.data(), Device::cuda(), a.data(), Device::cpu(), device_a.bytes(), *stream_);
  copy_bytes(device_b.data(), Device::cuda(), b.data(), Device::cpu(), device_b.bytes(), *stream_);
  stream_->synchronise();
  RunContext context{*stream_, nullptr, nullptr};
  const auto enqueue = [&] {
    gemm->run(p, {device_a.as<float>(), device_b.as<float>(), device_c.as<float>()}, workspace.data(),
              context);
  };
  std::vector<float> eager(64 * 32), replayed(64 * 32);
  enqueue();
  copy_bytes(eager.data(), Device::cpu(), device_c.data(), Device::cuda(), device_c.bytes(), *stream_);
  stream_->synchronise();
  const CapturedGraph graph = CapturedGraph::capture(*stream_, enqueue);
  fill_bytes(device_c.data(), Device::cuda(), kNanByte, device_c.bytes(), *stream_);
  graph.launch(*stream_);
  copy_bytes(replayed.data(), Device::cpu(), device_c.data(), Device::cuda(), device_c.bytes(), *stream_);
  stream_->synchronise();
  EXPECT_TRUE(same_bits(eager, replayed));
}

TEST_F(CublasGemm, DescribesItself) {
  const std::unique_ptr<Gemm> gemm = backend_->prepare(MathMode::kFp32, *stream_);
  EXPECT_NE(gemm->describe().find("cuBLAS"), std::string::npos) << gemm->describe();
}

#ifdef LENSLET_HAS_CUDA
TEST_F(CublasGemm, BiasAndReluFollowInPlace) {
  for (int64_t outer : {1, 3}) {
    for (int64_t channels : {1, 4, 10, 120}) {
      for (int64_t inner : {1, 4, 7, 64}) {
        for (int variant = 0; variant < 8; ++variant) {
          const bool relu = (variant & 1) != 0, with_bias = (variant & 2) != 0;
          const size_t shift = (variant & 4) != 0 ? 1 : 0;  // from an aligned address
          const auto count = static_cast<size_t>(outer * channels * inner);
          const auto y = reference::uniform_values(shift + count, 1);
          const auto bias = reference::uniform_values(static_cast<size_t>(channels), 2);
          GuardedMemory memory(Device::cuda(), {(shift + count) * 4, bias.size() * 4});
          memory.poison(kNanByte, *stream_);
          memory.upload(0, y.data(), *stream_);
          memory.upload(1, bias.data(), *stream_);
          bias_rectifier_gpu(block(memory, 0) + shift, with_bias ? block(memory, 1) : nullptr, relu, outer,
                             channels, inner, *stream_);
          std::vector<float> found(shift + count);
          memory.download(0, found.data(), *stream_);
          EXPECT_EQ(memory.damage(kNanByte, *stream_), "");
          for (size_t i = 0; i < shift; ++i) ASSERT_EQ(found[i], y[i]) << "wrote before its output";
          for (size_t i = 0; i < count; ++i) {
            const size_t channel = i / static_cast<size_t>(inner) % static_cast<size_t>(channels);
            const float sum = with_bias ? y[shift + i] + bias[channel] : y[shift + i];
            ASSERT_EQ(found[shift + i], relu && sum < 0 ? 0.0f : sum)
                << outer << " " << channels << " " << inner << " " << i;
          }
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace lenslet
