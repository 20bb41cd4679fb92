// Runs every kernel of the project's convolutions, rungs and studies once on each small problem, in uninitialised
// memory of exactly the needed size. For compute-sanitizer, which detects an access out of bounds only at the end of an
// allocation, and an uninitialised read only in memory that was not filled. Other tests judge the results; here each
// must be a finite number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/convbench/gemm_study/gemm_study.h"
#include "apps/convbench/stencil/stencil_study.h"
#include "framework/tensor/stored_floats.h"
#include "layers/conv/conv_problem_list.h"
#include "layers/conv/conv_registry.h"
#include "layers/conv/gpu/ladder/conv_ladder.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/fill.h"
#include "tests/support/gpu.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

// One of them for each problem, in turn.
const Pool2dWindow kWindows[] = {Pool2dWindow::square(2, 2),
                                 Pool2dWindow::square(3, 2, 1),
                                 Pool2dWindow::square(2, 1),
                                 {2, 3, 2, 1, 1, 0}};
// fp32 tensors in each mode, and tensors of 16 bits, which have one.
const std::pair<ElementType, MathMode> kArithmetics[] = {{ElementType::kFp32, MathMode::kFp32},
                                                         {ElementType::kFp32, MathMode::kTf32},
                                                         {ElementType::kFp32, MathMode::kFp16},
                                                         {ElementType::kFp16, MathMode::kFp32},
                                                         {ElementType::kBf16, MathMode::kFp32}};
/// Prepares and runs once, with bias, ReLU and pooling if requested. `ends`: of a problem of fp32.
void run_once(const ConvBackend& backend, const Conv2dProblem& problem, MathMode math, bool relu,
              const std::optional<Pool2dWindow>& window, Stream& stream, ConvEnds ends = {}) {
  DevicePrepareServices services(stream);
  const auto count = [](const Shape& shape) { return static_cast<size_t>(shape.num_elements()); };
  const auto values = [&](size_t values_count, uint64_t seed) {
    std::vector<float> made = reference::uniform_values(values_count, seed);
    round_to(problem.type, made);
    return made;
  };
  const std::vector<float> weights = values(count(problem.weight_shape()), 1);
  const std::vector<float> bias = values(static_cast<size_t>(problem.k), 2);
  const std::vector<float> x = values(count(problem.input_shape()), 3);
  const ConvEnds given = ends;
  if (problem.type != ElementType::kFp32) ends = {problem.type, problem.type};
  const auto x_count = static_cast<int64_t>(x.size());
  const std::vector<float> stored_x = stored_floats(ends.x, x.data(), x_count);
  const auto kernel = backend.prepare({problem, math, weights.data(), relu ? bias.data() : nullptr,
                                       relu && backend.fuses_rectifier(Rectifier(true)), SIZE_MAX, services,
                                       stream, "", window, given});
  const int64_t rows = window ? window->rows(problem.p()) : problem.p();
  const int64_t columns = window ? window->columns(problem.q()) : problem.q();
  std::vector<float> y(static_cast<size_t>(problem.n * problem.k * rows * columns));
  const auto y_count = static_cast<int64_t>(y.size());
  std::vector<float> stored_y = stored_floats(ends.y, y.data(), y_count);
  const Buffer device_x(stream.device(), bytes_of(ends.x, x_count)),
      device_y(stream.device(), bytes_of(ends.y, y_count)),
      workspace(stream.device(), kernel->workspace_bytes());
  copy_bytes(device_x.data(), stream.device(), stored_x.data(), Device::cpu(), device_x.bytes(), stream);
  RunContext context{stream, workspace.data(), nullptr};
  kernel->convolve({device_x.as<float>(), device_y.as<float>()}, context);
  copy_bytes(stored_y.data(), Device::cpu(), device_y.data(), stream.device(), device_y.bytes(), stream);
  stream.synchronise();
  load_floats(ends.y, stored_y.data(), y_count, y.data());
  for (const float value : y)
    ASSERT_TRUE(std::isfinite(value)) << problem.to_string() << " " << to_string(math);
}

std::vector<Conv2dProblem> problems_of(const std::string& name, const std::string& list) {
  return listed_problems(LENSLET_SOURCE_DIR "/layers/conv/problems", list, name);
}

/// Each problem in both layouts and all types and math modes, with and without bias and ReLU in turn, and pooled.
int run_all(const ConvBackend& backend, const std::vector<Conv2dProblem>& problems) {
  Stream stream(Device::cuda());
  int runs = 0;
  size_t turn = 0;
  for (Conv2dProblem problem : problems) {
    for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
      problem.layout = layout;
      for (const auto& [type, math] : kArithmetics) {
        problem.type = type;
        if (!backend.supports(problem, math)) continue;
        const Pool2dWindow& window = kWindows[++turn % std::size(kWindows)];
        try {
          run_once(backend, problem, math, turn % 2 == 0, std::nullopt, stream);
          ++runs;
          constexpr ElementType kFp16 = ElementType::kFp16;
          if (const ConvEnds halves{kFp16, kFp16}; backend.takes_ends(problem, math, halves, {}))
            run_once(backend, problem, math, turn % 2 == 0, std::nullopt, stream, halves);
          if (window.rows(problem.p()) < 1 || window.columns(problem.q()) < 1) continue;
          if (!backend.fuses_max_pool(problem, math, window)) continue;
          run_once(backend, problem, math, turn % 2 != 0, window, stream);
        } catch (const UnavailableError&) {  // a library that does not support this problem
        }
      }
    }
  }
  return runs;
}

/// How many problems of a list are one test, so that a tool ends within minutes. One takes it about 20 s with cuDNN,
/// because it checks every algorithm that cuDNN tries, and up to 5 s of `launches`, which have several tiles.
size_t problems_in_a_part(const std::string& backend, const std::string& list) {
  if (backend == "cudnn") return 3;
  return list == "launches" ? 16 : SIZE_MAX;
}

/// The problems of `list` from `begin`, `count` of them at most.
struct Part {
  std::string backend, list;
  size_t begin, count;
  std::string name;
};

std::vector<Part> parts() {
  std::vector<Part> all;
  for (const ConvBackendEntry& entry : conv_backend_entries(DeviceKind::kCuda)) {
    for (const char* list :
         {"lenet", "regress", "tails", "tiles", "depthwise", "outputs", "rounds", "launches"}) {
      const size_t problems = problems_of(entry.name(), list).size();
      const size_t count = problems_in_a_part(entry.name(), list);
      for (size_t begin = 0; begin == 0 || begin < problems; begin += count) {
        const std::string number = count == SIZE_MAX ? "" : concat("_", begin / count);
        all.push_back({entry.name(), list, begin, count, concat(entry.name(), "_", list, number)});
      }
    }
  }
  return all;
}

class ConvOnce : public testing::TestWithParam<Part> {};

TEST_P(ConvOnce, RunsOnBareMemory) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Part& part = GetParam();
  const ConvBackend* backend = nullptr;
  try {
    backend = &find_conv_backend(DeviceKind::kCuda, part.backend).open();
  } catch (const UnavailableError& error) {
    GTEST_SKIP() << error.what();
  }
  const std::vector<Conv2dProblem> all = problems_of(part.backend, part.list);
  const size_t end = std::min(all.size(), part.begin + part.count);
  if (run_all(*backend, {all.data() + part.begin, all.data() + end}) == 0)
    GTEST_SKIP() << part.backend << " supports none of " << part.list;
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvOnce, testing::ValuesIn(parts()), ByName());

std::vector<std::string> rung_names() {
  std::vector<std::string> names;
  for (const std::string& algorithm : conv_ladder_algorithms()) {
    for (const ConvRung& rung : conv_ladder(algorithm)) {
      if (!rung.is_product) names.push_back(rung.name);
    }
  }
  return names;
}

using RungAndList = std::tuple<std::string, std::string>;
class RungOnce : public testing::TestWithParam<RungAndList> {};

TEST_P(RungOnce, RunsOnBareMemory) {
  LENSLET_SKIP_WITHOUT_GPU();
  const auto& [name, list] = GetParam();
  for (const ConvRung& rung : conv_ladder(name.substr(0, name.find('.')))) {
    if (rung.name == name && run_all(rung.getter(), problems_of(name, list)) == 0)
      GTEST_SKIP() << name << " supports none of " << list;
  }
}

INSTANTIATE_TEST_SUITE_P(Rungs, RungOnce,
                         testing::Combine(testing::ValuesIn(rung_names()),
                                          testing::Values("lenet", "regress", "tiles", "whole_steps")),
                         ByName());

void run_and_judge(Candidate& candidate, Stream& stream) {
  candidate.load(0, stream);
  candidate.run(stream);
  std::vector<float> output(candidate.output_count());
  copy_bytes(output.data(), Device::cpu(), candidate.output(), stream.device(), output.size() * sizeof(float),
             stream);
  stream.synchronise();
  const Verdict verdict = candidate.judge(0, output);
  EXPECT_TRUE(verdict.passed) << candidate.name() << ": " << verdict.reason;
}

TEST(StudiesOnce, MatrixKernels) {
  LENSLET_SKIP_WITHOUT_GPU();
  DeviceGuard guard(Device::cuda());
  Stream stream(Device::cuda());
  for (const MatrixShape& shape : {MatrixShape{3, 257, 27}, MatrixShape{33, 65, 31}}) {
    MatrixTask task(shape, reference::Fill::kRandom, 7);
    std::vector<std::unique_ptr<Candidate>> candidates;
    for (const GemmCell& cell : gemm_cells(gemm_memory_modes(), {8, 16, 32}, gemm_partitions(), {16, 32})) {
      if (study_support(kernel_of(cell, shape), Device::cuda()))
        candidates.push_back(matrix_candidate(cell, task, stream));
    }
    task.allocate(Device::cuda(), 0);
    for (const auto& candidate : candidates) run_and_judge(*candidate, stream);
  }
}

TEST(StudiesOnce, StencilKernels) {
  LENSLET_SKIP_WITHOUT_GPU();
  DeviceGuard guard(Device::cuda());
  Stream stream(Device::cuda());
  std::vector<Stencil> stencils;
  for (const int taps : {1, 2, 3, 4, 7, 8, 15, 33, 301}) stencils.push_back({1, 1, 1031, taps});
  for (const int taps : {1, 3, 5, 7, 9, 13}) stencils.push_back({2, 33, 129, taps});
  for (const Stencil& stencil : stencils) {
    StencilTask task(stencil, reference::Fill::kRandom, 11);
    task.allocate(Device::cuda());
    for (const StencilCell& cell : stencil_cells(stencil_filters(), stencil_boundaries())) {
      if (stencil_support(cell, stencil, Device::cuda()))
        run_and_judge(*stencil_candidate(cell, task, stream), stream);
    }
  }
}

}  // namespace
}  // namespace lenslet
