// Common parts of the hosts of this project's convolution kernels. Internal: only for files that include CUDA headers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/device/kernel_launch.cuh"
#include "layers/conv/conv_backend.h"

namespace lenslet {

/// A convolution in one launch of a kernel with these parameters.
template <typename... Parameters>
class OneLaunchConv : public ConvKernel {
 public:
  std::string detail() const override { return detail_; }
  std::vector<LaunchResources> launches() const override { return {launch_.resources()}; }

 protected:
  using Launch = KernelLaunch<Parameters...>;
  Launch launch_;
  std::string detail_;
};

/// A backend that sums products in any order and needs no workspace.
class SummingBackend : public ConvBackend {
 public:
  size_t workspace_bytes(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override { return 0; }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
};

/// Tiles of block_m filters x block_n positions that one group of a problem has, if each of its rows is computed at
/// `row` positions.
template <typename Variant>
int64_t group_tiles(const Conv2dProblem& problem, const Variant& variant, int row) {
  const int64_t positions = int64_t{problem.n} * problem.p() * row;
  return ceil_div(problem.k / problem.groups, variant.block_m) * ceil_div(positions, variant.block_n);
}

/// [K] or none to [G, pitch], zeros after each group's.
inline std::shared_ptr<float> upload_bias(const ConvPrepare& request, int64_t pitch) {
  const int group_filters = request.problem.k / request.problem.groups;
  std::vector<float> bias(static_cast<size_t>(request.problem.groups * pitch), 0.0f);
  for (int k = 0; request.bias && k < request.problem.k; ++k) {
    bias[static_cast<size_t>(k / group_filters * pitch + k % group_filters)] = request.bias[k];
  }
  return request.services.upload(bias.data(), bias.size());
}

/// A table, such as of taps or rows, on the device of the request's stream.
template <class Entry>
std::shared_ptr<void> upload_table(const ConvPrepare& request, const std::vector<Entry>& table) {
  const size_t bytes = table.size() * sizeof(Entry);
  std::shared_ptr<void> memory = request.services.allocate(bytes);
  copy_bytes(memory.get(), request.stream.device(), table.data(), Device::cpu(), bytes, request.stream);
  return memory;
}

}  // namespace lenslet
