// Common parts of the tests of convolution backends: the lists of problems, and the backends of the program's kind of
// device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "layers/conv/conv_problem_list.h"
#include "layers/conv/conv_registry.h"
#include "layers/conv/prepare_services.h"
#include "tests/conv/refusals.h"
#include "tests/support/test_device.h"
#include "tests/support/test_names.h"

namespace lenslet {

/// `launches` is one list per backend: shapes for kernels that the other lists do not reach on a GPU.
inline std::vector<std::string> problem_lists() {
  std::vector<std::string> lists = {"lenet",   "rgb3x3",    "deep3x3",   "tails",
                                    "regress", "depthwise", "pointwise", "asymmetric"};
  if (kDevice.is_cuda()) lists.push_back("launches");
  return lists;
}

inline std::vector<std::string> backend_names() {
  std::vector<std::string> names = conv_table().names(kDevice.kind);
  if (names.empty()) names.push_back("none");  // appears as one skipped test instead of none
  return names;
}

/// Longer lists are split into parts of this size, so that the shards of a program take similar times. On a GPU cudnn
/// takes seconds for a problem, most of them to build its plans.
inline const size_t kPartProblems = kDevice.is_cuda() ? 8 : 32;

/// The folder of problem lists.
inline const std::string kProblems = LENSLET_SOURCE_DIR "/layers/conv/problems";

/// "lenet", …, and the parts of long lists, "tails_0" and up.
inline std::vector<std::string> list_parts() {
  std::vector<std::string> names;
  for (const std::string& list : problem_lists()) {
    size_t count = 0;
    for (const std::string& backend : backend_names())
      count = std::max(count, listed_problems(kProblems, list, backend).size());
    if (count <= kPartProblems) {
      names.push_back(list);
      continue;
    }
    for (size_t first = 0; first < count; first += kPartProblems)
      names.push_back(list + "_" + std::to_string(first / kPartProblems));
  }
  return names;
}

/// The problems of a list, or of one part of it.
inline std::vector<Conv2dProblem> problems_of(const std::string& backend, const std::string& name) {
  const size_t underline = name.find('_');
  std::vector<Conv2dProblem> problems = listed_problems(kProblems, name.substr(0, underline), backend);
  if (underline != std::string::npos) {
    const size_t first = std::min(std::stoul(name.substr(underline + 1)) * kPartProblems, problems.size());
    const auto begin = problems.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end =
        problems.begin() + static_cast<std::ptrdiff_t>(std::min(first + kPartProblems, problems.size()));
    problems = std::vector<Conv2dProblem>(begin, end);
  }
  // On the CPU one image of a deep problem is enough: the others run the same code.
  for (Conv2dProblem& problem : problems) {
    if (!kDevice.is_cuda() && problem.flops() > 1e9) problem.n = 1;
  }
  // Both layouts; a backend that supports only one refuses the other with a reason.
  const size_t count = problems.size();
  for (size_t i = 0; i < count; ++i) {
    problems.push_back(problems[i]);
    problems.back().layout = TensorLayout::kNhwc;
  }
  return problems;
}

/// Adds the problems in fp16 and bf16 where the backend takes them: in the types in turn, and in both for the list of
/// launches.
inline void add_halves(std::vector<Conv2dProblem>& problems, const ConvBackend& backend,
                       const std::string& list) {
  if (!backend.takes(ElementType::kFp16)) return;
  const bool both = list.rfind("launches", 0) == 0;
  const size_t count = problems.size();
  for (size_t i = 0; i < count; ++i) {
    for (const ElementType type : {ElementType::kFp16, ElementType::kBf16}) {
      if (!both && (type == ElementType::kBf16) != (i % 2 == 1)) continue;
      problems.push_back(problems[i]);
      problems.back().type = type;
    }
  }
}

/// Types of x and y in a graph that stores one of them as fp16, or both.
inline constexpr ConvEnds kHalfEnds[] = {{ElementType::kFp32, ElementType::kFp16},
                                         {ElementType::kFp16, ElementType::kFp32},
                                         {ElementType::kFp16, ElementType::kFp16}};

/// Windows that halve a plane, overlap, leave gaps, extend into the padding, or differ in height and width.
inline const Pool2dWindow kWindows[] = {Pool2dWindow::square(2, 2), Pool2dWindow::square(3, 2, 1),
                                        Pool2dWindow::square(2, 1), Pool2dWindow::square(5, 5, 2),
                                        {2, 3, 2, 1, 1, 0},         {3, 1, 4, 2, 0, 0}};

/// The windows for problem number `index` of a list: the usual one, and one of the others in turn.
inline std::vector<Pool2dWindow> windows_of(const Conv2dProblem& problem, size_t index) {
  std::vector<Pool2dWindow> windows;
  for (const Pool2dWindow& window : {kWindows[0], kWindows[1 + index % (std::size(kWindows) - 1)]}) {
    if (window.rows(problem.p()) >= 1 && window.columns(problem.q()) >= 1) windows.push_back(window);
  }
  return windows;
}

/// Limits that force a backend to work in several rounds: its minimum, and a third of the way to its full workspace.
/// Empty if it always works in one round.
inline std::vector<size_t> workspace_limits(const ConvBackend& backend, const Conv2dProblem& problem,
                                            MathMode math) {
  const size_t min_bytes = backend.min_workspace_bytes(problem, math),
               max_bytes = backend.workspace_bytes(problem, math);
  if (min_bytes >= max_bytes) return {};
  return {min_bytes, min_bytes + (max_bytes - min_bytes) / 3};
}

/// Opens the backend of that name; sets the reason to skip if it is unavailable.
inline const ConvBackend* open_or_reason(const std::string& name, std::string& reason) {
  if (kDevice.is_cuda() && !cuda_status().usable) {
    reason = "no usable GPU: " + cuda_status().reason;
    return nullptr;
  }
  try {
    return &find_conv_backend(kDevice.kind, name).open();
  } catch (const UnavailableError& error) {
    reason = error.what();
    return nullptr;
  }
}

using BackendAndList = std::tuple<std::string, std::string>;

/// Every backend on every list: on the CPU list by list, so that the backends share a list's references; on a GPU
/// backend by backend, so that the shards of a program share the slow backends.
inline std::vector<BackendAndList> backends_and_lists() {
  std::vector<BackendAndList> all;
  for (const std::string& backend : backend_names())
    for (const std::string& list : list_parts()) all.emplace_back(backend, list);
  if (!kDevice.is_cuda()) {
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return std::get<1>(a) < std::get<1>(b); });
  }
  return all;
}

/// The kernel's `count` outputs for input x.
inline std::vector<float> output_of(ConvKernel& kernel, const std::vector<float>& x, size_t count,
                                    Stream& stream) {
  DevicePrepareServices services(stream);
  std::vector<float> y(count);
  const auto device_x = services.upload(x.data(), x.size());
  const auto device_y = services.allocate(count * sizeof(float));
  const auto workspace = services.allocate(std::max<size_t>(kernel.workspace_bytes(), 1));
  RunContext context{stream, workspace.get(), nullptr};
  kernel.convolve({device_x.get(), static_cast<float*>(device_y.get())}, context);
  services.download(y.data(), static_cast<const float*>(device_y.get()), count);
  return y;
}

/// Skips its tests, with the reason, without the parameter's backend.
template <typename Parameter>
class OpenedConv : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    std::string reason;
    backend_ = open_or_reason(backend_name(this->GetParam()), reason);
    if (!backend_) GTEST_SKIP() << reason;
  }
  const ConvBackend* backend_ = nullptr;

 private:
  static const std::string& backend_name(const std::string& backend) { return backend; }
  static const std::string& backend_name(const BackendAndList& both) { return std::get<0>(both); }
};
using OpenedConvBackend = OpenedConv<std::string>;
using OpenedConvBackendAndList = OpenedConv<BackendAndList>;

}  // namespace lenslet
