// CPU matrix products against plain fp64: sizes at and off the blocks, both transposes, steps, batches, alpha and beta.
#include <gtest/gtest.h>

#include <cmath>

#include "framework/base/parallel.h"
#include "layers/gemm/cpu/tile_kernel.h"
#include "layers/gemm/gemm_backend.h"
#include "layers/reference/fill.h"
#include "layers/reference/gemm_subject.h"
#include "tests/layers/layer_problems.h"
#include "tests/support/expect_error.h"
#include "tests/support/host_values.h"
#include "tests/support/sanitizers.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

using reference::gemm_problem;
using reference::GemmSubject;
using reference::with_slack;

class CpuGemm : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      gemm_ = gemm_table().find(DeviceKind::kCpu, GetParam()).open().prepare(MathMode::kFp32, stream_);
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
    workspace_ = Buffer(Device::cpu(), gemm_->workspace_bytes());
  }

  void check(const GemmProblem& problem) {
    const GemmSubject subject(problem);
    const VerifyResult result = subject.verify(GetParam(), MathMode::kFp32, stream_);
    EXPECT_TRUE(result.passed) << subject.problem() << ": " << result.reason;
  }

  Stream stream_{Device::cpu()};
  std::unique_ptr<Gemm> gemm_;
  Buffer workspace_;
};

TEST_P(CpuGemm, AgreesWithFp64) {
  for (int m : {1, 2, 3, 7, 8, 16, 47, 49}) {
    for (int n : {1, 3, 15, 16, 17, 191, 193, 200}) {
      for (int k : {1, 2, 25, 150, 257}) {
        for (int transposes = 0; transposes < 4; ++transposes) {
          check(gemm_problem(m, n, k, (transposes & 1) != 0, (transposes & 2) != 0));
        }
      }
    }
  }
}

TEST_P(CpuGemm, HonoursStepsAndScales) {
  for (int transposes = 0; transposes < 4; ++transposes) {
    GemmProblem p = with_slack(gemm_problem(50, 195, 260, (transposes & 1) != 0, (transposes & 2) != 0), 5);
    check(p);
    p.alpha = -1.5f;
    check(p);
    p.beta = 0.25f;
    check(p);
  }
}

TEST_P(CpuGemm, MultipliesBatches) {
  for (const GemmProblem& problem : gemm_batches()) check(problem);
}

// Without terms C is beta * C, and zero if beta is.
TEST_P(CpuGemm, AddsUpNoTerms) {
  GemmProblem p = with_slack(gemm_problem(5, 200, 0, false, true), 3);
  check(p);
  p.beta = -0.5f;
  check(p);
}

TEST_P(CpuGemm, UsesSeveralThreads) {
  const int before = num_threads();
  set_num_threads(3);
  check(gemm_problem(300, 210, 130));
  check(gemm_problem(5, 1000, 300));
  check(gemm_problem(1000, 5, 300, false, true));
  set_num_threads(before);
}

TEST_P(CpuGemm, RefusesNonsense) {
  RunContext context{stream_, nullptr, nullptr};
  GemmProblem p = gemm_problem(4, 4, 4);
  p.lda = 3;
  EXPECT_THROW(gemm_->run(p, {}, workspace_.data(), context), UsageError);
  p = gemm_problem(-1, 4, 4);
  EXPECT_THROW(gemm_->run(p, {}, workspace_.data(), context), UsageError);
  EXPECT_FALSE(gemm_table().find(DeviceKind::kCpu, GetParam()).open().supports(MathMode::kTf32));
  EXPECT_THROW(gemm_table().find(DeviceKind::kCpu, GetParam()).open().prepare_half(stream_),
               UnavailableError);
  EXPECT_NE(gemm_->describe(), "");
}

INSTANTIATE_TEST_SUITE_P(Backends, CpuGemm, testing::ValuesIn(gemm_table().names(DeviceKind::kCpu)),
                         ByName());

TEST(CpuGemmBackend, RefusesAnUnknownName) {
  EXPECT_THROW(gemm_table().find(DeviceKind::kCpu, "mkl").open(), UsageError);
  EXPECT_NO_THROW(gemm_backend(DeviceKind::kCpu));
}

// A product's bits depend on its own terms alone: full vectors, shorter ones and single positions add them in one
// order, and all with fused multiply-adds or none. An optimised build for a processor that has them uses them.
TEST(TileKernels, SumsAreFusedInEveryVector) {
  constexpr int64_t kTaps = 37, kStep = 160;
  for (const TileKernels* kernels : all_tile_kernels()) {
    bool fused = false, separate = false;
    for (int rows : {1, 2, 4, 6, 8}) {
      if (rows > kernels->max_rows) continue;
      const auto a = reference::uniform_values(static_cast<size_t>(kTaps * rows), 1);
      const auto b = reference::uniform_values(static_cast<size_t>(kTaps * kStep), 2);
      for (int64_t count = 1; count <= 150; count += count < 40 ? 1 : 7) {
        std::vector<float> out(static_cast<size_t>(rows * kStep), NAN);
        TileArgs args;
        args.a = a.data();
        args.b = b.data();
        args.b_step = kStep;
        args.taps = kTaps;
        args.out = out.data();
        args.out_step = kStep;
        args.count = count;
        kernels->run[rows](args);
        for (int64_t j = 0; j < rows; ++j) {
          for (int64_t i = 0; i < count; ++i) {
            float once = 0, twice = 0;  // rounded once, or the product and the sum
            for (int64_t t = 0; t < kTaps; ++t) {
              const float weight = a[static_cast<size_t>(t * rows + j)],
                          x = b[static_cast<size_t>(t * kStep + i)];
              const volatile float product = weight * x;
              once = std::fma(weight, x, once);
              twice += product;
            }
            const float found = out[static_cast<size_t>(j * kStep + i)];
            ASSERT_TRUE(found == once || found == twice)
                << kernels->isa << " rows " << rows << " of " << count;
            if (once == twice) continue;
            (found == once ? fused : separate) = true;
          }
        }
      }
    }
    EXPECT_NE(fused, separate) << kernels->isa << " adds some products rounded and some not";
#if defined(__x86_64__) && defined(__OPTIMIZE__)
    if (!test::kSanitized) {
      EXPECT_EQ(fused, kernels->isa != std::string("baseline")) << kernels->isa;
    }
#endif
  }
}

// Every instruction set of this processor, each number of rows, counts around its vectors; outputs between the rows and
// after them stay unchanged.
TEST(TileKernels, EveryInstructionSetAgrees) {
  for (const TileKernels* kernels : all_tile_kernels()) {
    for (int rows : {1, 2, 4, 6, 8}) {
      if (rows > kernels->max_rows) continue;
      for (int64_t count = 1; count <= 150; count += count < 40 ? 1 : 7) {
        for (bool by_offsets : {false, true}) {
          const int64_t taps = 23, step = 160;
          const auto a = reference::small_integers(static_cast<size_t>(taps * rows), 1);
          // Exactly the readable bytes, so that a sanitizer detects reads beyond them.
          const auto b = reference::small_integers(static_cast<size_t>((taps - 1) * step + count), 2);
          const auto bias = reference::small_integers(static_cast<size_t>(rows), 3);
          std::vector<int64_t> offsets;
          for (int64_t t = 0; t < taps; ++t) offsets.push_back((taps - 1 - t) * step);
          std::vector<float> out(static_cast<size_t>(rows * step), NAN);
          TileArgs args;
          args.a = a.data();
          args.b = b.data();
          args.offsets = by_offsets ? offsets.data() : nullptr;
          args.b_step = step;
          args.taps = taps;
          args.out = out.data();
          args.out_step = step;
          args.count = count;
          args.bias = by_offsets ? bias.data() : nullptr;
          args.after = by_offsets;
          kernels->run[rows](args);
          for (int64_t j = 0; j < rows; ++j) {
            for (int64_t i = 0; i < step; ++i) {
              const float found = out[static_cast<size_t>(j * step + i)];
              if (i >= count) {
                ASSERT_TRUE(std::isnan(found)) << kernels->isa << " wrote position " << i << " of " << count;
                continue;
              }
              float expected = by_offsets ? bias[static_cast<size_t>(j)] : 0;
              for (int64_t t = 0; t < taps; ++t) {
                expected +=
                    a[static_cast<size_t>(t * rows + j)] *
                    b[static_cast<size_t>((by_offsets ? offsets[static_cast<size_t>(t)] : t * step) + i)];
              }
              if (by_offsets && expected < 0) expected = 0;
              ASSERT_EQ(found, expected)
                  << kernels->isa << " rows " << rows << " count " << count << " at " << i;
            }
          }
        }
      }
    }
  }
}

// Lines of one vector share a tile. Every line has the bits that it has alone, and nothing is written between them.
TEST(TileKernels, LinesHaveTheBitsThatTheyHaveAlone) {
  constexpr int64_t kTaps = 30, kPitch = 29, kOutPitch = 31, kMaxLines = 11;
  constexpr size_t kFloats = TileKernels::kMaxRows * kMaxLines * kOutPitch;
  const std::vector<float> a = reference::uniform_values(TileKernels::kMaxRows * kTaps, 5);
  const std::vector<float> b = reference::uniform_values(kTaps + kMaxLines * kPitch + 64, 6);
  for (const TileKernels* kernels : all_tile_kernels()) {
    for (int rows = 1; rows <= TileKernels::kMaxRows; ++rows) {
      if (!kernels->run[rows]) continue;
      for (const int64_t count : {3, 4, 7, 8, 9, 15, 16, 17, 24}) {
        for (int64_t lines = 1; lines <= kMaxLines; ++lines) {
          std::vector<float> together(kFloats, NAN), alone(kFloats, NAN);
          TileArgs args;
          args.a = a.data();
          args.b = b.data();
          args.b_step = 1;
          args.taps = kTaps;
          args.out = together.data();
          args.out_step = kMaxLines * kOutPitch;
          args.count = count;
          args.lines = lines;
          args.b_line = kPitch;
          args.out_line = kOutPitch;
          kernels->run[rows](args);
          args.lines = 1;
          for (int64_t line = 0; line < lines; ++line) {
            args.b = b.data() + line * kPitch;
            args.out = alone.data() + line * kOutPitch;
            kernels->run[rows](args);
          }
          ASSERT_TRUE(same_bits(together, alone))
              << kernels->isa << ", " << rows << " rows of " << lines << " lines of " << count;
        }
      }
    }
  }
}

// If a library is missing, tables of results must state that, with the reason.
TEST(CpuGemmBackend, IsTheFirstRowThatOpensAndNamesThoseBefore) {
  using Entry = BackendTable<GemmBackend>::Entry;
  Stream stream(Device::cpu());
  const Entry missing(DeviceKind::kCpu, "onednn", BackendEntry::Kind::kNotBuilt, "libdnnl.so.2 is missing");
  const Entry other(DeviceKind::kCpu, "mkl", BackendEntry::Kind::kNotBuilt, "no licence");
  const Entry& blocked = gemm_table().find(DeviceKind::kCpu, "blocked");
  const auto describe = [&](const std::vector<Entry>& rows) {
    return first_gemm_backend(rows)->prepare(MathMode::kFp32, stream)->describe();
  };
  const std::string alone = blocked.open().prepare(MathMode::kFp32, stream)->describe();
  EXPECT_EQ(alone.find("blocked loop"), 0u);
  EXPECT_EQ(describe({blocked, missing}), alone);
  const std::string second = describe({missing, other, blocked});
  EXPECT_EQ(second.find(alone + " instead of onednn ("), 0u) << second;
  EXPECT_NE(second.find("libdnnl.so.2 is missing"), std::string::npos) << second;
  EXPECT_NE(second.find("), mkl ("), std::string::npos) << second;
  expect_error<UnavailableError>([&] { first_gemm_backend({missing}); }, "libdnnl.so.2 is missing");
}

}  // namespace
}  // namespace lenslet
