// Verifies every kernel of the gemm and stencil studies on sizes that fit no tile, and refuses impossible launches.
#include <gtest/gtest.h>

#include "apps/convbench/gemm_study/gemm_study.h"
#include "apps/convbench/stencil/stencil_study.h"
#include "framework/base/error.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/tensor.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

using reference::Fill;

class StudyKernels : public testing::Test {
 protected:
  void SetUp() override {
    LENSLET_SKIP_WITHOUT_GPU();
    stream_ = std::make_unique<Stream>(Device::cuda());
    guard_ = std::make_unique<DeviceGuard>(Device::cuda());
  }

  Verdict run(Candidate& candidate, int round) {
    candidate.load(round, *stream_);
    std::vector<float> output(candidate.output_count());
    const size_t bytes = output.size() * sizeof(float);
    fill_bytes(candidate.output(), Device::cuda(), kNanByte, bytes, *stream_);
    candidate.run(*stream_);
    copy_bytes(output.data(), Device::cpu(), candidate.output(), Device::cuda(), bytes, *stream_);
    stream_->synchronise();
    return candidate.judge(round, output);
  }

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceGuard> guard_;
};

TEST_F(StudyKernels, MultiplyCorrectlyAtEverySize) {
  int launched = 0;
  const MatrixShape shapes[] = {{1, 1, 1},     {3, 1, 27},    {1, 257, 27},   {3, 256, 27},   {3, 1000, 27},
                                {2, 33, 7},    {4, 4097, 31}, {5, 129, 33},   {17, 65, 64},   {33, 31, 100},
                                {64, 512, 16}, {65, 77, 129}, {3, 12544, 27}, {130, 300, 257}};
  for (const MatrixShape& shape : shapes) {
    for (Fill fill : {Fill::kIntegers, Fill::kRandom}) {
      MatrixTask task(shape, fill, 7);
      size_t workspace_bytes = 0;
      std::vector<std::unique_ptr<Candidate>> candidates;
      try {
        candidates.push_back(cublas_candidate(task, *stream_, workspace_bytes));
      } catch (const UnavailableError& error) {
        std::printf("without cuBLAS: %s\n", error.what());
      }
      for (const GemmCell& cell :
           gemm_cells(gemm_memory_modes(), {8, 16, 32}, gemm_partitions(), {16, 32, 64})) {
        if (!study_support(kernel_of(cell, shape), Device::cuda())) continue;
        candidates.push_back(matrix_candidate(cell, task, *stream_));
        ++launched;
      }
      task.allocate(Device::cuda(), workspace_bytes);
      for (int round : {0, 1}) {
        for (const auto& candidate : candidates) {
          const Verdict verdict = run(*candidate, round);
          EXPECT_TRUE(verdict.passed) << candidate->name() << " at " << shape.rows << " x " << shape.columns
                                      << " x " << shape.inner << ": " << verdict.reason;
        }
      }
    }
  }
  EXPECT_GE(launched, 14 * 2 * 17);
}

TEST_F(StudyKernels, RefuseBlocksThatNoGpuLaunches) {
  const GemmCell cell{GemmCell::Table::kPartition, "element", 64};
  const MatrixShape shape{64, 64, 64};
  const Support support = study_support(kernel_of(cell, shape), Device::cuda());
  ASSERT_FALSE(support);
  const std::string reason = refusal_of(cell, support);
  for (const char* part : {"64 x 64 = 4096 threads", "up to 1024", "0.0025 ms", "a launch that failed"}) {
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  }
  // The launch itself is also refused with an error.
  MatrixTask task(shape, Fill::kRandom, 1);
  task.allocate(Device::cuda(), 0);
  task.load(0, *stream_);
  EXPECT_THROW(matrix_candidate(cell, task, *stream_)->run(*stream_), DeviceError);
  for (int tile : {12, 64}) {
    const GemmCell odd{GemmCell::Table::kMemory, "shared", tile};
    EXPECT_FALSE(study_support(kernel_of(odd, shape), Device::cuda())) << tile;
  }
  const auto any_tile = kernel_of({GemmCell::Table::kMemory, "global", 12}, shape);
  EXPECT_TRUE(study_support(any_tile, Device::cuda()));
}

TEST_F(StudyKernels, ConvolveCorrectlyAtEverySize) {
  std::vector<Stencil> stencils;
  for (int width : {1, 2, 5, 8, 17, 255, 256, 257, 1023, 1024, 1031, 5000}) {
    for (int taps : {1, 2, 3, 4, 7, 8, 12, 15, 16, 33, 301}) stencils.push_back({1, 1, width, taps});
  }
  stencils.push_back({1, 1, 100000, 4095});
  stencils.push_back({1, 1, 1000003, 7});
  for (const auto& [height, width] : {std::pair{1, 1},
                                      {1, 9},
                                      {9, 1},
                                      {5, 7},
                                      {31, 33},
                                      {32, 128},
                                      {33, 129},
                                      {64, 132},
                                      {67, 260},
                                      {130, 515}}) {
    for (int taps : {1, 3, 5, 7, 9, 13}) stencils.push_back({2, height, width, taps});
  }
  stencils.push_back({2, 200, 300, 63});
  int verified = 0, refused = 0;
  for (const Stencil& stencil : stencils) {
    stencil.check();
    for (Fill fill : {Fill::kIntegers, Fill::kRandom}) {
      StencilTask task(stencil, fill, 11);
      task.allocate(Device::cuda());
      for (const StencilCell& cell : stencil_cells(stencil_filters(), stencil_boundaries())) {
        if (const Support support = stencil_support(cell, stencil, Device::cuda()); !support) {
          EXPECT_NE(support.reason(), "");
          ++refused;
          continue;
        }
        const auto candidate = stencil_candidate(cell, task, *stream_);
        const Verdict verdict = run(*candidate, 0);
        EXPECT_TRUE(verdict.passed) << candidate->name() << ", " << stencil.to_string() << ": "
                                    << verdict.reason;
        ++verified;
      }
    }
  }
  RecordProperty("verified", verified);
  RecordProperty("refused", refused);
  EXPECT_GT(verified, 1000);
}

TEST_F(StudyKernels, ConvolveTwoStencilsInTurn) {
  // Both filters use the same constant memory: each copies its own when it is loaded.
  StencilTask first({1, 1, 999, 5}, Fill::kIntegers, 1), second({1, 1, 999, 7}, Fill::kIntegers, 2);
  first.allocate(Device::cuda());
  second.allocate(Device::cuda());
  for (const char* filter : {"constant", "tiled", "vector"}) {
    const StencilCell cell{filter, Boundary::kClamp};
    const auto one = stencil_candidate(cell, first, *stream_),
               two = stencil_candidate(cell, second, *stream_);
    for (int round : {0, 1}) {
      EXPECT_TRUE(run(*one, round).passed) << filter;
      EXPECT_TRUE(run(*two, round).passed) << filter;
    }
  }
}

}  // namespace
}  // namespace lenslet
