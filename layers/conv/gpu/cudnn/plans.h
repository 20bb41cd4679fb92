// Convolutions by cuDNN's graph interface: one operation, and the plans that its heuristic recommends for it. Internal
// to the module cudnn.
//
// The old interface offers named engines only, this one all of them. The numerical notes of a plan's engine describe
// its arithmetic: without TENSOR_CORE it multiplies in fp32 (cuDNN, Backend API, "numerical notes").
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/tensor/math_mode.h"
#include "layers/conv/gpu/cudnn/objects.h"

namespace lenslet {

/// An object of the graph interface. Set-up calls throw; calls that an engine may refuse return a status.
class CudnnNode {
 public:
  explicit CudnnNode(cudnnBackendDescriptorType_t type) {
    LENSLET_CUDNN_CHECK(cudnnBackendCreateDescriptor(type, &node_));
  }
  ~CudnnNode() {
    if (node_) (void)cudnnBackendDestroyDescriptor(node_);
  }
  CudnnNode(CudnnNode&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  CudnnNode(const CudnnNode&) = delete;
  CudnnNode& operator=(const CudnnNode&) = delete;

  cudnnBackendDescriptor_t get() const noexcept { return node_; }
  /// `values`: a vector or an array.
  template <typename Values>
  CudnnNode& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Values& values) {
    LENSLET_CUDNN_CHECK(cudnnBackendSetAttribute(node_, name, type, static_cast<int64_t>(std::size(values)),
                                                 std::data(values)));
    return *this;
  }
  CudnnNode& set(cudnnBackendAttributeName_t name, const CudnnNode& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector<cudnnBackendDescriptor_t>{other.get()});
  }
  void finish() { LENSLET_CUDNN_CHECK(cudnnBackendFinalize(node_)); }
  cudnnStatus_t try_to_finish() { return cudnnBackendFinalize(node_); }
  /// Up to `max_count` values; fewer if the object has fewer, none if it lacks the attribute.
  template <typename T>
  std::vector<T> read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      int64_t max_count) const {
    std::vector<T> values(static_cast<size_t>(max_count));
    int64_t count = 0;
    if (cudnnBackendGetAttribute(node_, name, type, max_count, &count, values.data()) != CUDNN_STATUS_SUCCESS)
      count = 0;
    values.resize(static_cast<size_t>(count < max_count ? count : max_count));
    return values;
  }
  /// Fills existing objects; returns how many were filled.
  int64_t read_into(cudnnBackendAttributeName_t name, std::vector<CudnnNode>& nodes) const {
    std::vector<cudnnBackendDescriptor_t> raw;
    raw.reserve(nodes.size());
    for (const CudnnNode& node : nodes) raw.push_back(node.get());
    int64_t count = 0;
    const cudnnStatus_t status = cudnnBackendGetAttribute(
        node_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), &count, raw.data());
    return status == CUDNN_STATUS_SUCCESS ? std::min(count, static_cast<int64_t>(raw.size())) : 0;
  }

 private:
  cudnnBackendDescriptor_t node_ = nullptr;
};

/// The identifiers of the tensors whose pointers a plan gets.
enum CudnnTensorId : int64_t { kCudnnX = 1, kCudnnW = 2, kCudnnY = 3 };

/// The pointers of a run (cuDNN's "variant pack"). Changing them allocates nothing, so that run() does not.
class CudnnPack {
 public:
  CudnnPack() { point(tensors_, workspace_); }

  cudnnBackendDescriptor_t at(const float* x, const float* w, float* y, void* workspace) {
    const std::array<void*, 3> tensors = {const_cast<float*>(x), const_cast<float*>(w), y};
    if (tensors != tensors_ || workspace != workspace_[0]) {
      // A finished object refuses other attributes until it is initialised again. That function is deprecated, because
      // cuDNN 9 creates a new object per run instead, with some allocations.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
      LENSLET_CUDNN_CHECK(cudnnBackendInitialize(node_.get()));
#pragma GCC diagnostic pop
      point(tensors, {workspace});
      tensors_ = tensors;  // last: after an error the next run tries again
      workspace_[0] = workspace;
    }
    return node_.get();
  }

 private:
  void point(const std::array<void*, 3>& tensors, const std::array<void*, 1>& workspace) {
    constexpr std::array<int64_t, 3> kIds = {kCudnnX, kCudnnW, kCudnnY};
    node_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kIds)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, tensors)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    node_.finish();
  }

  CudnnNode node_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
  std::array<void*, 3> tensors_{};  // x, w, y
  std::array<void*, 1> workspace_{};
};

/// One engine with its settings, ready to run.
class CudnnPlan {
 public:
  CudnnPlan(std::string name, CudnnNode plan, size_t workspace_bytes,
            std::vector<cudnnBackendNumericalNote_t> notes)
      : name_(std::move(name)),
        plan_(std::move(plan)),
        workspace_bytes_(workspace_bytes),
        notes_(std::move(notes)) {}

  /// "ENGINE_38/2=1,3=5": the engine and its settings by number. Equal for the same problem and cuDNN.
  const std::string& name() const noexcept { return name_; }
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  bool tensor_cores() const { return has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE); }
  bool transforms_tiles() const {
    return has(CUDNN_NUMERICAL_NOTE_FFT) || has(CUDNN_NUMERICAL_NOTE_WINOGRAD) ||
           has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4) || has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
  }
  cudnnStatus_t execute(cudnnHandle_t handle, const float* x, const float* w, float* y, void* workspace) {
    return cudnnBackendExecute(handle, plan_.get(), pack_.at(x, w, y, workspace));
  }

 private:
  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes_.begin(), notes_.end(), note) != notes_.end();
  }

  std::string name_;
  CudnnNode plan_;
  size_t workspace_bytes_;
  std::vector<cudnnBackendNumericalNote_t> notes_;
  CudnnPack pack_;
};

namespace cudnn_graph {

/// `nchw` in that layout.
inline CudnnNode tensor(CudnnTensorId id, TensorLayout layout, ElementType type, const Shape& nchw) {
  const int64_t n = nchw[0], c = nchw[1], h = nchw[2], w = nchw[3];
  constexpr int64_t kAlignment = 16;  // bytes; Lenslet's tensors have a larger alignment
  std::vector<int64_t> strides = {c * h * w, h * w, w, 1};
  if (layout == TensorLayout::kNhwc) strides = {c * h * w, 1, w * c, c};
  CudnnNode node(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  node.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::vector<int64_t>{id})
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
           std::vector<cudnnDataType_t>{data_type_of(type)})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::vector<int64_t>{kAlignment})
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::vector<int64_t>{n, c, h, w})
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  node.finish();
  return node;
}

inline CudnnNode convolution(const Conv2dProblem& problem) {
  const auto pair = [](int64_t h, int64_t w) { return std::vector<int64_t>{h, w}; };
  CudnnNode node(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  node.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::vector<int64_t>{2})
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           std::vector<cudnnDataType_t>{CUDNN_DATA_FLOAT})
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           std::vector<cudnnConvolutionMode_t>{CUDNN_CROSS_CORRELATION})
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, pair(problem.pad_h, problem.pad_w))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, pair(problem.pad_h, problem.pad_w))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, pair(problem.dilation_h, problem.dilation_w))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, pair(problem.stride_h, problem.stride_w));
  node.finish();
  return node;
}

/// Whether an engine with these notes computes at least as precisely as `math`, repeats its bits and keeps the bound.
/// Products of 16-bit tensors are exact on tensor cores, too.
inline bool supports(const std::vector<cudnnBackendNumericalNote_t>& notes, ElementType type, MathMode math,
                     bool may_transform) {
  for (const cudnnBackendNumericalNote_t note : notes) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        if (type == ElementType::kFp32 && math == MathMode::kFp32) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        if (!may_transform) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
        break;
      default:  // lower precision, unrepeatable order, larger tiles, and notes of future versions
        return false;
    }
  }
  return true;
}

/// Engine and settings by number.
inline std::string name_of(const CudnnNode& engine, const CudnnNode& config) {
  constexpr int64_t kMaxKnobs = 32;
  const auto index = engine.read<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1);
  std::string name = concat("ENGINE_", index.empty() ? -1 : index[0]);
  std::vector<CudnnNode> knobs;
  for (int64_t i = 0; i < kMaxKnobs; ++i) knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  const int64_t count = config.read_into(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
  for (int64_t i = 0; i < count; ++i) {
    const CudnnNode& knob = knobs[static_cast<size_t>(i)];
    const auto type =
        knob.read<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
    const auto value = knob.read<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1);
    if (type.empty() || value.empty()) continue;
    name += concat(i == 0 ? "/" : ",", static_cast<int>(type[0]), "=", value[0]);
  }
  return name;
}

}  // namespace cudnn_graph

/// The plans that cuDNN's heuristic recommends, best guess first, with x and y in the problem's layout and filters in
/// `filter`; with `only` no other than the plan of that name, and the others are not built. Empty if cuDNN has none.
inline std::vector<std::shared_ptr<CudnnPlan>> cudnn_plans(cudnnHandle_t handle, const Conv2dProblem& problem,
                                                           MathMode math, TensorLayout filter,
                                                           bool may_transform, const std::string& only = {}) {
  using namespace cudnn_graph;
  constexpr int64_t kMaxConfigs = 24;  // candidates examined
  // Plans used: the best is rarely further down the heuristic's list.
  const size_t max_plans = only.empty() ? 8 : 1;
  constexpr int64_t kMaxNotes = CUDNN_NUMERICAL_NOTE_TYPE_COUNT;
  const CudnnNode x = tensor(kCudnnX, problem.layout, problem.type, problem.input_shape());
  const CudnnNode w = tensor(kCudnnW, filter, problem.type, problem.weight_shape());
  const CudnnNode y = tensor(kCudnnY, problem.layout, problem.type, problem.output_shape());
  const CudnnNode convolution_node = convolution(problem);
  CudnnNode operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution_node)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, std::vector<float>{1})
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, std::vector<float>{0});
  if (operation.try_to_finish() != CUDNN_STATUS_SUCCESS) return {};
  CudnnNode graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector<cudnnHandle_t>{handle});
  if (graph.try_to_finish() != CUDNN_STATUS_SUCCESS) return {};

  std::vector<std::shared_ptr<CudnnPlan>> plans;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    CudnnNode heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector<cudnnBackendHeurMode_t>{mode});
    if (heuristic.try_to_finish() != CUDNN_STATUS_SUCCESS) continue;
    std::vector<CudnnNode> configs;
    for (int64_t i = 0; i < kMaxConfigs; ++i) configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    const int64_t count = heuristic.read_into(CUDNN_ATTR_ENGINEHEUR_RESULTS, configs);
    for (int64_t i = 0; i < count && plans.size() < max_plans; ++i) {
      const CudnnNode& config = configs[static_cast<size_t>(i)];
      std::vector<CudnnNode> engine;
      engine.emplace_back(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      if (config.read_into(CUDNN_ATTR_ENGINECFG_ENGINE, engine) != 1) continue;
      const auto notes = engine[0].read<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                     CUDNN_TYPE_NUMERICAL_NOTE, kMaxNotes);
      if (!supports(notes, problem.type, math, may_transform)) continue;
      const std::string name = name_of(engine[0], config);
      const bool known =
          std::any_of(plans.begin(), plans.end(), [&](const auto& plan) { return plan->name() == name; });
      if (known || !(only.empty() || name == only)) continue;
      CudnnNode plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, std::vector<cudnnHandle_t>{handle})
          .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (plan.try_to_finish() != CUDNN_STATUS_SUCCESS) continue;
      const auto bytes = plan.read<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
      if (bytes.empty() || bytes[0] < 0) continue;
      plans.push_back(
          std::make_shared<CudnnPlan>(name, std::move(plan), static_cast<size_t>(bytes[0]), notes));
    }
  }
  return plans;
}

}  // namespace lenslet
