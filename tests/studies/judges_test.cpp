// The gemm and stencil studies without a GPU: their judges, with planted faults, and their refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/convbench/bench/study_bench.h"
#include "apps/convbench/gemm_study/gemm_study.h"
#include "apps/convbench/stencil/stencil_study.h"
#include "framework/base/error.h"
#include "framework/measuring/row_status.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using reference::Fill;

std::vector<GemmCell> all_gemm_cells() {
  return gemm_cells(gemm_memory_modes(), {8, 16, 32}, gemm_partitions(), {16, 32, 64});
}

std::vector<float> multiply(const MatrixTask& task) {
  const auto rows = static_cast<size_t>(task.shape().rows),
             columns = static_cast<size_t>(task.shape().columns);
  const auto inner = static_cast<size_t>(task.shape().inner);
  std::vector<float> c(rows * columns, 0.0f);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < inner; ++k) {
      for (size_t j = 0; j < columns; ++j)
        c[i * columns + j] += task.a()[i * inner + k] * task.b()[k * columns + j];
    }
  }
  return c;
}

TEST(MatrixTask, JudgesEveryElementOfSmallProducts) {
  Stream stream(Device::cpu());
  for (Fill fill : {Fill::kIntegers, Fill::kRandom}) {
    MatrixTask task({5, 37, 19}, fill, 3);
    task.allocate(Device::cpu(), 0);
    for (int round : {0, 1}) {
      task.load(round, stream);
      const std::vector<float> c = multiply(task);
      const Verdict right = task.judge(round, c, stream);
      EXPECT_TRUE(right.passed) << right.reason;
      EXPECT_EQ(right.error.checked, 5 * 37);
      for (size_t i = 0; i < c.size(); ++i) {
        std::vector<float> wrong = c;
        wrong[i] += 1;
        EXPECT_FALSE(task.judge(round, wrong, stream).passed) << i;
        wrong[i] = NAN;
        EXPECT_FALSE(task.judge(round, wrong, stream).passed) << i;
      }
      EXPECT_FALSE(task.judge(1 - round, c, stream).passed) << "the product of another input";
    }
  }
}

TEST(MatrixTask, SamplesLargeProductsAndSeesEveryNan) {
  Stream stream(Device::cpu());
  constexpr size_t kColumns = 200000;
  MatrixTask task({3, kColumns, 27}, Fill::kRandom, 1);
  task.allocate(Device::cpu(), 0);
  task.load(0, stream);
  std::vector<float> c = multiply(task);
  const Verdict right = task.judge(0, c, stream);
  EXPECT_TRUE(right.passed) << right.reason;
  EXPECT_GT(right.error.checked, 100000);
  EXPECT_LT(right.error.checked, static_cast<int64_t>(3 * kColumns));
  EXPECT_GT(right.error.bound, 0);
  for (size_t i : {size_t{0}, kColumns - 1, 3 * kColumns - 1, size_t{123456}}) {
    std::vector<float> wrong = c;
    wrong[i] = NAN;
    EXPECT_FALSE(task.judge(0, wrong, stream).passed) << i;
  }
  // One tile is missing.
  std::fill_n(c.begin() + 100000, 128, 0.0f);
  EXPECT_FALSE(task.judge(0, c, stream).passed);
}

TEST(MatrixTask, SeesWhatIsWrittenOutside) {
  Stream stream(Device::cpu());
  MatrixTask task({5, 5, 4}, Fill::kIntegers, 1);
  task.allocate(Device::cpu(), 0);
  task.load(0, stream);
  const std::vector<float> c = multiply(task);
  task.output()[25] = 7;
  const Verdict verdict = task.judge(0, c, stream);
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.reason.find("wrote past the end of block 2"), std::string::npos) << verdict.reason;
  // The next candidate gets intact canaries.
  task.load(0, stream);
  EXPECT_TRUE(task.judge(0, multiply(task), stream).passed);
}

TEST(GemmStudy, NamesItsCells) {
  EXPECT_EQ(all_gemm_cells().size(), 18U);
  EXPECT_THROW(gemm_cells({"texture"}, {8}, {}, {}), UsageError);
  EXPECT_THROW(gemm_cells({}, {}, {"diagonal"}, {8}), UsageError);
  for (const GemmCell& cell : all_gemm_cells()) {
    const ResultRow row = gemm_row(cell, 1024, 3, 1);
    EXPECT_EQ(row.study, "a");
    ASSERT_EQ(row.labels.size(), 4U);
    ASSERT_TRUE(row.published) << cell.kind << " " << cell.edge;
    EXPECT_GT(row.published->time_ns, 0);
    EXPECT_NE(row.repro.find(cell.kind), std::string::npos) << row.repro;
  }
  const MatrixShape shape = im2col_shape(4096, 3);
  EXPECT_EQ(shape.rows, 3);
  EXPECT_EQ(shape.columns, 4096 * 4096);
  EXPECT_EQ(shape.inner, 27);
  EXPECT_FALSE(gemm_row({GemmCell::Table::kMemory, "shared", 16}, 1000, 3, 1).published);
}

// No GPU accepts this launch, and it fails without a GPU too: the error must name the kernel.
TEST(Studies, LaunchErrorsNameTheKernel) {
  if (!cuda_status().built) GTEST_SKIP() << "this build has no kernels";
  Stream stream(Device::cpu());  // the launch is refused before the stream is used
  const MatrixShape shape{64, 64, 64};
  const auto matrix = kernel_of({GemmCell::Table::kPartition, "element", 64}, shape);
  expect_error<DeviceError>([&] { study_enqueue(matrix, shape, nullptr, nullptr, nullptr, stream); },
                            concat("launch of ", matrix.name, " failed"));
  const Stencil stencil{1, 1, 100, 7};
  StencilKernel kernel = kernel_of({"tiled", Boundary::kZero}, stencil);
  kernel.threads_x = 4096;
  expect_error<DeviceError>(
      [&] {
        study_enqueue(kernel, StencilShape{1, 100, 7, 3}, nullptr, nullptr, nullptr, stream);
      },
      concat("launch of ", kernel.name, " failed"));
}

/// y by the definition, with the edges added to x beforehand.
std::vector<float> convolve(const Stencil& stencil, const std::vector<float>& filter, const float* x,
                            Boundary boundary) {
  const int taps = stencil.taps, before = stencil.before(), after = stencil.after();
  const bool plane = stencil.dimensions == 2;
  const int rows = plane ? stencil.height + taps - 1 : 1, columns = stencil.width + taps - 1;
  const auto wrap = [&](int i, int n) {
    if (i >= 0 && i < n) return i;
    if (boundary == Boundary::kZero) return -1;
    if (boundary == Boundary::kClamp) return i < 0 ? 0 : n - 1;
    return i < 0 ? -i : 2 * n - 2 - i;
  };
  std::vector<float> padded(static_cast<size_t>(rows) * static_cast<size_t>(columns));
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const int h = plane ? wrap(i - before, stencil.height) : 0, w = wrap(j - before, stencil.width);
      padded[static_cast<size_t>(i * columns + j)] = h < 0 || w < 0 ? 0.0f : x[h * stencil.width + w];
    }
  }
  EXPECT_EQ(columns, stencil.width + before + after);
  std::vector<float> y;
  for (int p = 0; p < stencil.height; ++p) {
    for (int q = 0; q < stencil.width; ++q) {
      float sum = 0;
      for (int s = 0; s < (plane ? taps : 1); ++s) {
        for (int t = 0; t < taps; ++t) {
          sum += filter[static_cast<size_t>(s * taps + t)] *
                 padded[static_cast<size_t>((p + s) * columns + q + t)];
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST(StencilTask, JudgesEachBoundaryByItself) {
  Stream stream(Device::cpu());
  for (const Stencil& stencil : {Stencil{1, 1, 50, 7}, Stencil{1, 1, 50, 4}, Stencil{2, 9, 11, 5}}) {
    StencilTask task(stencil, Fill::kRandom, 5);
    task.allocate(Device::cpu());
    task.load(0, stream);
    for (Boundary boundary : {Boundary::kZero, Boundary::kClamp, Boundary::kReflect}) {
      const std::vector<float> y = convolve(stencil, task.filter(), task.x(), boundary);
      const Verdict right = task.judge(0, boundary, y, stream);
      EXPECT_TRUE(right.passed) << stencil.to_string() << " " << to_string(boundary) << ": " << right.reason;
      EXPECT_EQ(right.error.checked, stencil.elements());
      for (Boundary other : {Boundary::kZero, Boundary::kClamp, Boundary::kReflect}) {
        if (other == boundary) continue;
        EXPECT_FALSE(task.judge(0, other, y, stream).passed)
            << to_string(boundary) << " for " << to_string(other);
      }
      for (size_t i = 0; i < y.size(); ++i) {
        std::vector<float> wrong = y;
        wrong[i] = i % 2 == 0 ? NAN : wrong[i] + 0.5f;
        EXPECT_FALSE(task.judge(0, boundary, wrong, stream).passed) << i;
      }
    }
  }
}

TEST(StencilTask, JudgesTheEdgesOfLargeOnes) {
  Stream stream(Device::cpu());
  const Stencil stencil{2, 1500, 1100, 5};
  StencilTask task(stencil, Fill::kIntegers, 5);
  task.allocate(Device::cpu());
  task.load(2, stream);
  std::vector<float> y = convolve(stencil, task.filter(), task.x(), Boundary::kClamp);
  const Verdict right = task.judge(2, Boundary::kClamp, y, stream);
  EXPECT_TRUE(right.passed) << right.reason;
  EXPECT_LT(right.error.checked, stencil.elements());
  for (size_t i : {size_t{0}, size_t{1099}, size_t{1500 * 1100 - 1}, size_t{700 * 1100 + 555}}) {
    std::vector<float> wrong = y;
    wrong[i] = NAN;
    EXPECT_FALSE(task.judge(2, Boundary::kClamp, wrong, stream).passed) << i;
  }
  y.back() += 1;
  EXPECT_FALSE(task.judge(2, Boundary::kClamp, y, stream).passed);
}

TEST(Stencil, RefusesInvalidSizes) {
  EXPECT_THROW((Stencil{1, 1, 0, 7}.check()), UsageError);
  EXPECT_THROW((Stencil{1, 1, 10, 4096}.check()), UsageError);
  EXPECT_THROW((Stencil{2, 10, 70000, 3}.check()), UsageError);
  EXPECT_THROW((Stencil{2, 60000, 60000, 3}.check()), UsageError);
  EXPECT_THROW((Stencil{2, 10, 10, 65}.check()), UsageError);
  EXPECT_TRUE((Stencil{1, 1, 3, 7}.supports(Boundary::kClamp)));
  EXPECT_TRUE((Stencil{1, 1, 4, 7}.supports(Boundary::kReflect)));
  const Support support = Stencil{1, 1, 3, 7}.supports(Boundary::kReflect);
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason().find("reaches 3"), std::string::npos) << support.reason();
  EXPECT_FALSE((Stencil{2, 2, 100, 5}.supports(Boundary::kReflect)));
  EXPECT_THROW(stencil_cells({"texture"}, {"zero"}), UsageError);
  EXPECT_THROW(stencil_cells({"global"}, {"periodic"}), UsageError);
  EXPECT_THROW(stencil_cells({}, {"zero"}), UsageError);
  EXPECT_EQ(stencil_cells(stencil_filters(), stencil_boundaries()).size(), 12U);
}

/// How a study of two candidates ends: one is refused, one measured if `second` has no status.
ExitCode end_of_study(const NoResult& first, const NoResult& second, const char* no_memory = nullptr) {
  BenchOptions options;
  options.device = "cpu";
  options.measure.warmup_ms = 0;
  options.measure.min_time_ms = 1;
  MatrixTask task({5, 37, 19}, Fill::kRandom, 3);
  return with_session(options, "gemm", BenchSession::Needs::kAnyDevice, [&](BenchSession& session) {
    std::vector<StudyCandidate> candidates(2);
    candidates[0].refusal = first;
    candidates[1].refusal = second;
    if (second.status.empty()) {
      candidates[1].prepared =
          std::make_unique<TaskCandidate>("plain", task, session.stream(), [&task](Stream&) {
            const std::vector<float> c = multiply(task);
            std::copy(c.begin(), c.end(), task.output());
          });
    }
    session.begin(1, "gemm");
    const auto allocate = [&] {
      if (no_memory) throw MemoryError(no_memory);
      task.allocate(Device::cpu(), 0);
    };
    bench_study_into(std::move(candidates), allocate, session);
  });
}

TEST(StudyBench, ARunThatMeasuresNothingEndsWithARefusal) {
  // Run::finish() throws an Error with the code of the refusal.
  const auto code_of = [](auto&&... study) {
    try {
      return end_of_study(study...);
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the reason");
      return error.exit_code();
    }
  };
  const NoResult none, unsupported{row_status::kUnsupported, ExitCode::kUnavailable, "the reason"};
  const NoResult repeats{row_status::kSkipped, ExitCode::kOk, "as the other"};
  EXPECT_EQ(code_of(unsupported, none), ExitCode::kOk);
  EXPECT_EQ(code_of(repeats, none), ExitCode::kOk);
  EXPECT_EQ(code_of(repeats, unsupported), ExitCode::kUnavailable);
  EXPECT_EQ(code_of(repeats, none, "the reason"), ExitCode::kMemory);
}

}  // namespace
}  // namespace lenslet
