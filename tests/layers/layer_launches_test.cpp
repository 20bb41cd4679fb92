// Every kernel of layers other than convolutions has a subject or problem, among those on which the GPU verifies it,
// that exercises it: the kernel is launched, with at least two tiles, the last partly filled, in each direction of the
// launch. No GPU is needed (tests/support/kernel_census.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layers/fusion/fusion.h"
#include "layers/linear/gpu/tensor_core_shape.h"
#include "layers/linear/gpu/tiled_shape.h"
#include "layers/linear/linear_layer.h"
#include "layers/lrn/lrn_backend.h"
#include "layers/pool/pool_backend.h"
#include "layers/pool/pool_layer.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_backend.h"
#include "layers/strides.h"
#include "tests/layers/layer_problems.h"
#include "tests/support/gpus.h"
#include "tests/support/kernel_census.h"

namespace lenslet {
namespace {

/// A direction that a launch has, or has not.
Direction only_if(bool present, const char* of) { return {of, present ? 2 : 0, 1}; }

/// The directions of kernels that take values in quads where the addresses allow it.
Directions directions_of_quads(const Seen& seen, int first_size) {
  const auto quads = seen.argument<int64_t>(first_size), count = seen.argument<int64_t>(first_size + 1);
  if (quads == 0) return {{"values, one by one", count, seen.threads()}};
  return {{"quads", quads, seen.threads()}, {"values after the quads", count, 4}};
}

Directions directions_of_strides(const Seen& seen, const StridedPair& places, const char* first,
                                 const char* second) {
  const auto repeats = [&](const int64_t* strides) {
    return std::find(strides, strides + places.rank, 0) != strides + places.rank;
  };
  Directions directions = {{"values", places.count(), seen.threads()}, {"dimensions", places.rank, 2}};
  if (first) directions.push_back(only_if(repeats(places.first), first));
  if (second) directions.push_back(only_if(repeats(places.second), second));
  return directions;
}

Directions directions_of_lrn(const Seen& seen) {
  const auto& problem = seen.argument<LrnProblem>(2);
  return {{"values", problem.samples * problem.channels * problem.inner, seen.threads()},
          {"samples", problem.samples, 1},
          {"channels", problem.channels, problem.before + 1 + problem.after},
          {"positions", problem.inner, 1}};
}

Directions directions_of_softmax(const Seen& seen) {
  const int64_t group = seen.number(0);
  const auto rows = seen.argument<int64_t>(2), classes = seen.argument<int64_t>(3);
  if (seen.argument<bool>(4))
    return {{"rows of logarithms", rows, seen.threads() / group}, {"classes of logarithms", classes, group}};
  return {{"rows", rows, seen.threads() / group}, {"classes", classes, group}};
}

Directions directions_of_softmax_columns(const Seen& seen) {
  const auto& problem = seen.argument<SoftmaxProblem>(2);
  return {{problem.logarithms ? "rows of logarithms" : "rows", problem.outer * problem.inner, seen.threads()},
          {"samples", problem.outer, 1},
          {"classes", problem.classes, 1}};
}

Directions directions_of_pool_2x2(const Seen& seen) {
  const bool wide = seen.name.find("unsigned long") != std::string::npos;
  const auto size = [&](int index) {
    return wide ? static_cast<int64_t>(seen.argument<uint64_t>(index)) : seen.argument<uint32_t>(index);
  };
  const int64_t rows = size(2), rows_of_y = size(4), quads = size(5), threads = size(6);
  return {{"threads", threads, seen.threads()},
          {"planes", threads / quads / rows_of_y, 1},
          {"rows", rows, 2},
          {"quads", quads, 1}};
}

Directions directions_of_pool_any(const Seen& seen) {
  const auto& problem = seen.argument<Pool2dProblem>(2);
  const Pool2dWindow& window = problem.window;
  return {{"outputs", problem.planes * problem.p * problem.q, seen.threads()},
          {"planes", problem.planes, 1},
          {"rows", problem.p, 1},
          {"columns", problem.q, 1},
          {"cells of a window", window.r, 1},
          only_if(window.pad_h > 0 && window.pad_w > 0, "padding")};
}

Directions directions_of_pool_plane(const Seen& seen) {
  return {{"planes", seen.argument<int64_t>(2), seen.threads() / 32},
          {"values", seen.argument<int64_t>(3), 32}};
}

Directions directions_of_linear_tiled(const Seen& seen) {
  const auto& shape = seen.argument<LinearTiledShape>(0);
  const int64_t outputs = shape.outputs, columns = int64_t{LinearTiledShape::kColumnLanes} * seen.number(0);
  return {
      {"samples", shape.batch, LinearTiledShape::kRows},
      {shape.wide ? "inputs, four copied at once" : "inputs, copied one by one", shape.inputs,
       LinearTiledShape::kDepth},
      {outputs % 4 == 0 ? "outputs, four stored at once" : "outputs, stored one by one", outputs, columns}};
}

Directions directions_of_linear_tensor_core(const Seen& seen) {
  const auto& shape = seen.argument<LinearTensorCoreShape>(0);
  const int64_t tiles = seen.number(1), warps = seen.number(2);
  const int64_t samples = seen.threads() / 32 / warps * LinearTensorCoreShape::kWarpRows;
  return {{"samples", shape.batch, samples},
          {"inputs", shape.inputs, LinearTensorCoreShape::kChunk},
          {shape.pair_store ? "outputs, two stored at once" : "outputs, stored one by one", shape.outputs,
           8 * tiles * warps}};
}

Directions directions_of_linear_warp_reduce(const Seen& seen) {
  return {{"samples", seen.argument<int64_t>(4), seen.number(0)},
          {"outputs", seen.argument<int64_t>(6), 8},
          {"inputs", seen.argument<int64_t>(5), int64_t{32} * seen.number(1)}};
}

const std::map<std::string, DirectionReader> kReaders = {
    {"activation_direct_kernel", [](const Seen& seen) { return directions_of_quads(seen, 4); }},
    {"relu_direct_kernel", [](const Seen& seen) { return directions_of_quads(seen, 2); }},
    {"pairwise_direct_same_kernel", [](const Seen& seen) { return directions_of_quads(seen, 4); }},
    {"pairwise_direct_strided_kernel",
     [](const Seen& seen) {
       return directions_of_strides(seen, seen.argument<StridedPair>(4), "a repeated", "b repeated");
     }},
    {"rearrange_copy_kernel",
     [](const Seen& seen) {
       return directions_of_strides(seen, seen.argument<StridedPair>(2), nullptr, nullptr);
     }},
    {"rearrange_fill_kernel",
     [](const Seen& seen) {
       return Directions{{"values", seen.argument<int64_t>(1), seen.threads()}};
     }},
    {"lrn_direct_kernel", directions_of_lrn},
    {"softmax_direct_kernel", directions_of_softmax},
    {"softmax_direct_columns_kernel", directions_of_softmax_columns},
    {"pool_direct_2x2_kernel", directions_of_pool_2x2},
    {"pool_direct_any_kernel", directions_of_pool_any},
    {"pool_direct_plane_kernel", directions_of_pool_plane},
    {"linear_tiled_kernel", directions_of_linear_tiled},
    {"linear_tensor_core_kernel", directions_of_linear_tensor_core},
    {"linear_warp_reduce_kernel", directions_of_linear_warp_reduce},
    {"bias_rectifier_kernel", directions_of_bias_rectifier},
};

const std::vector<Exempt> kExempt = {
    {"linear_warp_reduce_kernel<1,", "samples", "is for one sample"},
    {"linear_tensor_core_kernel<(true|false|[01]), ([24], 1|4, 2),", "outputs, .*",
     "is for layers of one tile: more outputs take wider tiles"},
    {"bias_rectifier_kernel", "values of a channel", "is of convolutions: ConvLaunches"},
    {"unpack_pixels_kernel", "", "is of no layer: it unpacks the input of a whole network, Pixels"},
    {"fill_shared_kernel", "", "is of no layer: it fills shared memory before verified runs"},
};

// conv_launches_test.cu counts those of convolutions.
bool counted(const std::string& base) { return base.rfind("conv_", 0) != 0; }

class LayerLaunches : public testing::Test {
 protected:
  /// Runs every backend that offers the layer, in each math mode, alone and with a fused ReLU. `shift`: of each
  /// address, in values.
  void run(const Layer& layer, const std::vector<Shape>& inputs, int64_t shift = 0) {
    for (const MathMode math : kMathModes) {
      if (math == MathMode::kFp32 || layer.uses_math()) run_in(math, layer, inputs, shift);
    }
  }
  void run_in(MathMode math, const Layer& layer, const std::vector<Shape>& inputs, int64_t shift) {
    static const ReluLayer kRelu;
    for (const std::string& backend : layer.backends(DeviceKind::kCuda)) {
      for (const Layer* const fused :
           {static_cast<const Layer*>(nullptr), static_cast<const Layer*>(&kRelu)}) {
        for (const reference::LayerEnds& ends : reference::kLayerEnds) {
          OperatorRequest request =
              request_for(layer, inputs, stream_.device(), math, ends.input, ends.output);
          if (fused) request.fused = {fused};
          const bool fp32 =
              request.input_type == ElementType::kFp32 && request.output_type == ElementType::kFp32;
          if (!fp32 && shift != 0) break;
          if (!layer.supports(backend, request)) continue;
          const std::unique_ptr<Operator> op = layer.prepare(backend, request, stream_);
          // Addresses of memory that the simulated GPU need not have.
          float* const data = reinterpret_cast<float*>(uintptr_t{1} << 44) + shift;
          std::vector<ConstTensorView> views;
          for (const Shape& shape : inputs)
            views.push_back({data, shape, request.device, request.input_type});
          RunContext context{stream_, data, nullptr};
          op->run(views, {data, request.output, request.device, request.output_type}, context);
        }
      }
    }
  }

  /// The subjects and problems on which a GPU verifies the layers.
  void run_all(const simulated_gpu::Gpu& gpu) {
    census_.begin(gpu);
    for (const auto& subject : reference::long_subjects()) {  // subjects_test.cpp
      const auto* const layer_subject = dynamic_cast<const reference::LayerSubject*>(subject.get());
      ASSERT_TRUE(layer_subject) << subject->problem();
      for (const reference::LayerCase& one : layer_subject->cases()) {
        for (int64_t shift = 0; shift < (is_large(*subject) ? 1 : 4); ++shift)
          run(*one.layer, one.inputs(), shift);
      }
    }
    const auto run_linear = [&](const LinearSize& size) {
      run(LinearLayer(Tensor({size.outputs, size.inputs}), Tensor({size.outputs})),
          {{size.batch, size.inputs}});
    };
    for (const LinearSize& size : linear_tile_sizes(gpu.multiprocessors)) run_linear(size);
    for (const LinearSize& size : linear_tensor_core_sizes()) run_linear(size);
    for (const LinearSize& size : kLinearPast2To31) run_linear(size);
    for (const auto& [kind, window] : pools_past_2_to_31()) {
      if (kind == reference::Pooling::kMax) {
        run(MaxPool2dLayer(window), {kPoolInputPast2To31});
      } else {
        run(AvgPool2dLayer(window, kind == reference::Pooling::kAverage), {kPoolInputPast2To31});
      }
    }
  }

  KernelCensus census_{kReaders, kExempt};
  Stream stream_{Device::cuda()};
};

TEST_F(LayerLaunches, ShowEveryKernelAtWork) {
  run_all(published_gpus()[kH200]);
  EXPECT_GT(census_.count(counted), 70);
  std::vector<std::string> missing = census_.missing(counted);
  // The census misses what no problem launches (unlaunched_kernel.cu).
  const auto planted = std::find_if(missing.begin(), missing.end(), [](const std::string& line) {
    return line.find("launched_by_no_problem_kernel: is never launched") != std::string::npos;
  });
  EXPECT_NE(planted, missing.end());
  if (planted != missing.end()) missing.erase(planted);
  for (const std::string& line : missing) ADD_FAILURE() << line;
}

// Every launch is within the limits of every GPU, which the simulated GPU enforces.
TEST_F(LayerLaunches, AreWithinTheLimitsOfEveryGpu) {
  for (const simulated_gpu::Gpu& gpu : published_gpus()) {
    SCOPED_TRACE(gpu.name);
    run_all(gpu);
    EXPECT_TRUE(census_.launched("linear_tiled_kernel"));
    EXPECT_TRUE(census_.launched("pool_direct_any_kernel"));
  }
}

}  // namespace
}  // namespace lenslet
