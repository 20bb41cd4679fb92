// GPU matrix products by cuBLAS against plain fp64: transposes, steps, batches, alpha and beta, true fp32, capture.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "framework/stream.h"
#include "layers/gemm/gemm.h"
#include "layers/gemm/gpu/bias_relu.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"
#include "tests/layers/layer_fixture.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

class CublasGemm : public testing::Test {
 protected:
  void SetUp() override {
    LENSLET_SKIP_WITHOUT_GPU();
    try {
      provider_ = &gemm_provider(DeviceKind::kCuda);
    } catch (const UnavailableError& error) {
      if (kHasCublas) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
    stream_ = std::make_unique<Stream>(Device::cuda());
  }

  static size_t extent(int64_t rows, int64_t step, int64_t stride, int batch) {
    return static_cast<size_t>(rows * step + (batch - 1) * stride);
  }

  void check(const GemmProblem& p, bool exact, MathMode math = MathMode::kFp32) {
    const std::unique_ptr<Gemm> gemm = provider_->prepare(math, *stream_);
    const size_t a_count = extent(p.transpose_a ? p.k : p.m, p.lda, p.stride_a, p.batch);
    const size_t b_count = extent(p.transpose_b ? p.n : p.k, p.ldb, p.stride_b, p.batch);
    const size_t c_count = extent(p.m, p.ldc, p.stride_c, p.batch);
    const auto values = exact ? reference::small_integers : reference::uniform_values;
    const std::vector<float> a = values(a_count, 1), b = values(b_count, 2);
    // beta = 0 must not read C.
    const std::vector<float> before = p.beta == 0 ? std::vector<float>(c_count, NAN) : values(c_count, 3);
    GuardedMemory memory(Device::cuda(), {a_count * 4, b_count * 4, c_count * 4, gemm->workspace_bytes()});
    std::vector<float> c[2] = {std::vector<float>(c_count), std::vector<float>(c_count)};
    for (int i = 0; i < 2; ++i) {
      const int pattern = i == 0 ? GuardedMemory::kNanByte : GuardedMemory::kMarkByte;
      memory.poison(pattern, *stream_);
      memory.upload(0, a.data(), *stream_);
      memory.upload(1, b.data(), *stream_);
      memory.upload(2, before.data(), *stream_);
      RunContext context{*stream_, nullptr, nullptr};
      gemm->run(p, {block(memory, 0), block(memory, 1), block(memory, 2)}, memory.block(3), context);
      memory.download(2, c[i].data(), *stream_);
      EXPECT_EQ(memory.damage(pattern, *stream_), "");
    }
    EXPECT_EQ(std::memcmp(c[0].data(), c[1].data(), c_count * 4), 0) << "two runs differ";

    reference::Comparison comparison;
    std::vector<bool> written(c_count);
    const double unit =
        math == MathMode::kFp32 ? 1.01 * 0x1p-24 * (p.k + 3) : 1.01 * (0x1p-9 + 0x1p-24 * (p.k + 3));
    for (int64_t batch = 0; batch < p.batch; ++batch) {
      for (int64_t i = 0; i < p.m; ++i) {
        for (int64_t j = 0; j < p.n; ++j) {
          double sum = 0, magnitude = 0;
          for (int64_t t = 0; t < p.k; ++t) {
            const int64_t at_a = batch * p.stride_a + (p.transpose_a ? t * p.lda + i : i * p.lda + t);
            const int64_t at_b = batch * p.stride_b + (p.transpose_b ? j * p.ldb + t : t * p.ldb + j);
            const double product =
                double{a[static_cast<size_t>(at_a)]} * double{b[static_cast<size_t>(at_b)]};
            sum += product;
            magnitude += std::fabs(product);
          }
          const auto at = static_cast<size_t>(batch * p.stride_c + i * p.ldc + j);
          written[at] = true;
          const double old = p.beta == 0 ? 0 : double{p.beta} * double{before[at]};
          comparison.add(static_cast<int64_t>(at), c[0][at], double{p.alpha} * sum + old,
                         exact ? 0 : unit * (std::fabs(p.alpha) * magnitude + std::fabs(old)));
        }
      }
    }
    EXPECT_TRUE(comparison.passed()) << comparison.reason() << " m=" << p.m << " n=" << p.n << " k=" << p.k
                                     << " ta=" << p.transpose_a << " tb=" << p.transpose_b
                                     << " batch=" << p.batch;
    for (size_t i = 0; i < c_count; ++i) {
      if (written[i]) continue;
      ASSERT_TRUE(std::isnan(c[0][i]) ? std::isnan(before[i]) : c[0][i] == before[i])
          << "wrote between the rows at " << i;
    }
  }

  static float* block(const GuardedMemory& memory, size_t index) {
    return static_cast<float*>(memory.block(index));
  }

  const GemmProvider* provider_ = nullptr;
  std::unique_ptr<Stream> stream_;
};

GemmProblem problem_of(int m, int n, int k, int transposes = 0, int64_t slack = 0) {
  GemmProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.transpose_a = (transposes & 1) != 0;
  p.transpose_b = (transposes & 2) != 0;
  p.lda = (p.transpose_a ? m : k) + slack;
  p.ldb = (p.transpose_b ? k : n) + slack;
  p.ldc = n + slack;
  return p;
}

TEST_F(CublasGemm, AgreesWithFp64) {
  for (int m : {1, 6, 17, 64}) {
    for (int n : {1, 16, 61, 576}) {
      for (int k : {1, 25, 150}) {
        for (int transposes = 0; transposes < 4; ++transposes) {
          check(problem_of(m, n, k, transposes), true);
          check(problem_of(m, n, k, transposes, 3), false);
        }
      }
    }
  }
}

TEST_F(CublasGemm, ScalesAndAdds) {
  for (int transposes = 0; transposes < 4; ++transposes) {
    GemmProblem p = problem_of(33, 65, 40, transposes, 5);
    p.alpha = -1.5f;
    p.beta = 0.25f;
    check(p, false);
  }
}

TEST_F(CublasGemm, MultipliesBatches) {
  for (int batch : {2, 3, 65}) {
    GemmProblem p = problem_of(16, 64, 150);
    p.batch = batch;
    p.stride_b = 64 * 150;
    p.stride_c = 16 * 64 + 7;
    check(p, true);  // A is repeated
    p.stride_a = 16 * 150;
    p.stride_b = 0;
    check(p, true);
  }
}

TEST_F(CublasGemm, TensorCoresOnlyWhereAskedFor) {
  check(problem_of(128, 256, 512), false);
  check(problem_of(128, 256, 512), false, MathMode::kTf32);
  check(problem_of(128, 256, 64), true, MathMode::kTf32);
  EXPECT_FALSE(provider_->supports(MathMode::kFp16));
}

TEST_F(CublasGemm, CanBeCaptured) {
  const GemmProblem p = problem_of(64, 32, 48);
  const std::unique_ptr<Gemm> gemm = provider_->prepare(MathMode::kFp32, *stream_);
  const std::vector<float> a = reference::small_integers(64 * 48, 1),
                           b = reference::small_integers(48 * 32, 2);
  Buffer device_a(Device::cuda(), a.size() * 4), device_b(Device::cuda(), b.size() * 4),
      device_c(Device::cuda(), 64 * 32 * 4), workspace(Device::cuda(), gemm->workspace_bytes());
  copy_bytes(device_a.data(), Device::cuda(), a.data(), Device::cpu(), device_a.bytes(), *stream_);
  copy_bytes(device_b.data(), Device::cuda(), b.data(), Device::cpu(), device_b.bytes(), *stream_);
  stream_->synchronize();
  RunContext context{*stream_, nullptr, nullptr};
  const auto enqueue = [&] {
    gemm->run(p, {device_a.as<float>(), device_b.as<float>(), device_c.as<float>()}, workspace.data(),
              context);
  };
  std::vector<float> eager(64 * 32), replayed(64 * 32);
  enqueue();
  copy_bytes(eager.data(), Device::cpu(), device_c.data(), Device::cuda(), device_c.bytes(), *stream_);
  stream_->synchronize();
  const CapturedGraph graph = CapturedGraph::capture(*stream_, enqueue);
  fill_bytes(device_c.data(), Device::cuda(), 0xff, device_c.bytes(), *stream_);
  graph.launch(*stream_);
  copy_bytes(replayed.data(), Device::cpu(), device_c.data(), Device::cuda(), device_c.bytes(), *stream_);
  stream_->synchronize();
  EXPECT_EQ(std::memcmp(eager.data(), replayed.data(), device_c.bytes()), 0);
}

TEST_F(CublasGemm, SaysWhatItIs) {
  const std::unique_ptr<Gemm> gemm = provider_->prepare(MathMode::kFp32, *stream_);
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
          memory.poison(GuardedMemory::kNanByte, *stream_);
          memory.upload(0, y.data(), *stream_);
          memory.upload(1, bias.data(), *stream_);
          bias_relu_gpu(block(memory, 0) + shift, with_bias ? block(memory, 1) : nullptr, relu, outer,
                        channels, inner, stream_->native_handle());
          std::vector<float> found(shift + count);
          memory.download(0, found.data(), *stream_);
          EXPECT_EQ(memory.damage(GuardedMemory::kNanByte, *stream_), "");
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
