// Every convolution kernel has a problem, in the lists on which every backend is
// verified, that exercises it: the kernel is launched, with at least two tiles, the last
// partly filled, in each direction of the launch. The kernels are those that the program
// registers with the CUDA runtime, so a new instantiation without a problem fails here.
// No GPU is needed: the cards are simulated, and the host's decisions for them are real.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "framework/base/integer_math.h"
#include "framework/device/gpu_limits.h"
#include "layers/conv/gpu/depthwise/channels.cuh"
#include "layers/conv/gpu/depthwise/rows.cuh"
#include "layers/conv/gpu/direct/any.cuh"
#include "layers/conv/gpu/direct/nhwc.cuh"
#include "layers/conv/gpu/direct/pixels.cuh"
#include "layers/conv/gpu/direct/rows.cuh"
#include "layers/conv/gpu/direct/strip.cuh"
#include "layers/conv/gpu/direct/tile.cuh"
#include "layers/conv/gpu/implicit_gemm/kernel.cuh"
#include "layers/conv/gpu/implicit_gemm/rows.cuh"
#include "layers/conv/gpu/tensor_core/hopper_tile.cuh"
#include "layers/conv/gpu/tensor_core/mma.cuh"
#include "layers/conv/gpu/winograd/fused.cuh"
#include "layers/conv/gpu/winograd/kernels.cuh"
#include "tests/conv/conv_fixture.h"
#include "tests/support/kernel_census.h"
#include "tests/support/simulated_gpu.h"

namespace lenslet {
namespace {

using simulated_gpu::Card;

Cuts cuts_of_tile(const Seen& seen) {
  const auto& shape = seen.argument<DirectTileShape>(0);
  const int out = seen.number(3), rows = seen.number(4), columns = seen.number(5);
  Cuts cuts = {{"images", shape.n, shape.images},
               {"rows", shape.p, int64_t{shape.row_patches} * rows},
               {"columns", shape.q, int64_t{shape.column_patches} * columns},
               {"filters", shape.k, int64_t{shape.channel_groups} * out},
               {"channels", shape.c, shape.chunk},
               {"columns of a thread", shape.q, columns}};
  if (shape.images > 1) cuts.push_back({"images side by side", shape.n, shape.images});
  if (shape.images > 1 && shape.contiguous) cuts.push_back({"images in one copy", shape.n, shape.images});
  if (shape.channel_groups > 1) cuts.push_back({"filters side by side", shape.k, int64_t{2} * out});
  return cuts;
}

Cuts cuts_of_strip(const Seen& seen) {
  const auto& shape = seen.argument<DirectStripShape>(1);
  const int64_t groups = (shape.w + kDirectStripColumns - 1) / kDirectStripColumns;
  Cuts cuts = {{"warps", shape.warps, kDirectStripThreads / 32},
               {"columns", shape.w, kDirectStripColumns},
               {"images", shape.warps / shape.strips / groups, 1}};
  if (shape.p / shape.strips > 1) cuts.push_back({"rows", shape.p, shape.p / shape.strips});
  return cuts;
}

Cuts cuts_of_rows(const Seen& seen) {
  const auto& shape = seen.argument<DirectRowsShape>(1);
  const bool pool = seen.number(8) != 0;
  const int64_t rows = pool ? seen.number(6) / 2 : seen.number(6), columns = pool ? 2 : 4;
  const int64_t in_image = ceil_div(shape.p, rows) * ceil_div(shape.q, columns);
  return {{"segments", shape.segments, seen.threads()},
          {"rows", shape.p, rows},
          {"columns", shape.q, columns},
          {"images", shape.segments / in_image, 1}};
}

Cuts cuts_of_any(const Seen& seen) {
  const auto& shape = seen.argument<DirectAnyShape>(0);
  return {{"positions", shape.pixels, kDirectAnyThreads},
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"groups", shape.k / shape.group_filters, 1},
          {"images", shape.pixels / (int64_t{shape.p} * shape.q), 1}};
}

Cuts cuts_of_any_pool(const Seen& seen) {
  const auto& shape = seen.argument<DirectAnyShape>(0);
  const auto& pool = seen.argument<DirectAnyPool>(1);
  const int out = seen.number(0);
  const int64_t tiles = ceil_div(pool.p, pool.tile_rows) * ceil_div(pool.q, pool.tile_columns);
  const int64_t filter_tiles = int64_t{shape.filter_tiles} * (shape.k / shape.group_filters);
  return {{"rows", pool.p, pool.tile_rows},
          {"columns", pool.q, pool.tile_columns},
          {"sums", pool.region, kDirectAnyThreads},
          {"windows", int64_t{pool.tile_rows} * pool.tile_columns * out, kDirectAnyThreads},
          {"filters of a group", shape.group_filters, out},
          {"groups", shape.k / shape.group_filters, 1},
          {"images", seen.launch.grid.x / (tiles * filter_tiles), 1}};
}

Cuts cuts_of_nhwc(const Seen& seen) {
  const auto& shape = seen.argument<DirectNhwcShape>(0);
  const int64_t of_image =
      shape.p * ceil_div(shape.q, kDirectNhwcColumns) * shape.filter_tiles * (shape.k / shape.group_filters);
  return {{"threads", shape.threads, kDirectNhwcThreads},
          {"columns", shape.q, kDirectNhwcColumns},
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"channels of a group", shape.group_channels, 1},
          {"groups", shape.k / shape.group_filters, 1},
          {"images", shape.threads / of_image, 1}};
}

Cuts cuts_of_pixels(const Seen& seen) {
  const auto& shape = seen.argument<DirectPixelsShape>(1);
  return {{"pixels", shape.pixels, kDirectPixelsThreads},
          {"images", shape.pixels / (int64_t{shape.p} * shape.q), 1}};
}

Cuts cuts_of_implicit_gemm(const Seen& seen) {
  const auto& shape = seen.argument<ImplicitGemmShape>(0);
  return {{"positions", shape.columns, seen.number(1)},
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"steps", shape.steps, 2},
          {"groups", seen.launch.grid.y, 1},
          {"images", shape.columns / shape.plane, 1},
          {shape.vector_store ? "positions, four stored at once" : "positions, stored one by one",
           shape.columns, seen.number(1)}};
}

Cuts cuts_of_implicit_gemm_rows(const Seen& seen) {
  const auto& shape = seen.argument<ImplicitGemmRowsShape>(0);
  return {{"positions", shape.columns, seen.number(1)},
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"steps", shape.steps, 3},  // stages
          {"groups", seen.launch.grid.y, 1},
          {"images", shape.columns / (int64_t{shape.plane} / shape.q * shape.w), 1}};
}

Cuts cuts_of_im2col(const Seen& seen) {
  const int first = seen.argument<int>(4), pixels = seen.argument<int>(5);
  return {{"pixels", pixels, seen.threads()},
          {"channels", seen.argument<int>(6), 1},
          {"images", seen.argument<int>(7), 1},
          {"pixels before this round", first, pixels}};
}

Cuts cuts_of_winograd(const Seen& seen, int64_t filters_at_once) {
  const auto& shape = seen.argument<WinogradShape>(0);
  return {{"tiles", shape.tiles, shape.chunk},
          {"tiles before this round", seen.argument<int>(1), 1},
          {"rows", shape.p, 2},
          {"columns", shape.q, 2},
          {"filters", shape.k, filters_at_once},
          {"channels", shape.c, 1}};
}

Cuts cuts_of_multiply(const Seen& seen) {
  const auto& shape = seen.argument<WinogradShape>(0);
  return {{"tiles of a round", shape.chunk, seen.number(1) - 1},  // whole blocks: never partly filled
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"channels of a group", shape.group_channels, seen.number(2)},
          {"groups", seen.launch.grid.z, 1}};
}

Cuts cuts_of_winograd_fused(const Seen& seen) {
  const auto& shape = seen.argument<WinogradFusedShape>(0);
  return {{"tiles", shape.tiles, kWinogradFusedTiles},
          {"blocks before this round", seen.argument<int>(1), 1},
          {"rows", shape.p, 4},
          {"columns", shape.q, 4},
          {"filters", shape.k, kWinogradFusedFilters},
          {"channels", shape.c, kWinogradFusedChannels}};
}

Cuts cuts_of_mma(const Seen& seen) {
  const auto& shape = seen.argument<TensorCoreMmaShape>(0);
  return {{"positions", shape.columns, seen.number(3)},
          {"filters of a group", shape.group_filters, seen.number(2)},
          {"steps", shape.steps, 5},  // more than stages
          {"groups", seen.launch.grid.y, 1},
          {"images", shape.columns / shape.plane, 1}};
}

Cuts cuts_of_wgmma(const Seen& seen) {
  const auto& shape = seen.argument<HopperShape>(0);
  const int tiles_m = seen.number(2), channels = seen.number(0) == static_cast<int>(MathMode::kTf32) ? 8 : 16;
  return {{"tiles", shape.tiles, seen.launch.grid.x},
          {"positions", shape.padded_pixels, int64_t{128} * tiles_m},
          {"filters", shape.k, seen.number(3)},
          {"channels", shape.c, channels},
          {"slices", shape.slices, 1},
          {"images", shape.padded_pixels / ((int64_t{shape.p} + shape.taps / shape.s - 1) * shape.q), 1}};
}

Cuts cuts_of_depthwise_rows(const Seen& seen) {
  const auto& shape = seen.argument<DepthwiseShape>(0);
  const int rows = seen.number(4);
  const int64_t of_plane = ceil_div(shape.p, rows) * ceil_div(shape.q, 4);
  return {{"segments", shape.segments, seen.threads()},
          {"rows", shape.p, rows},
          {"columns", shape.q, 4},
          {"images", shape.segments / of_plane / shape.k, 1}};
}

Cuts cuts_of_depthwise_channels(const Seen& seen, int64_t rows, int64_t columns) {
  const auto& shape = seen.argument<DepthwiseChannelsShape>(0);
  Cuts cuts = {{"threads", shape.threads, seen.threads()},
               {"rows", shape.p, rows},
               {"columns", shape.q, columns},
               {"channels", shape.c, 1}};
  return cuts;
}

/// How to read a launch of the kernel of that name.
const std::map<std::string, CutReader>& readers() {
  static const std::map<std::string, CutReader> map = {
      {"conv_direct_tile_kernel", cuts_of_tile},
      {"conv_direct_strip_kernel", cuts_of_strip},
      {"conv_direct_rows_kernel", cuts_of_rows},
      {"conv_direct_any_kernel", cuts_of_any},
      {"conv_direct_any_pool_kernel", cuts_of_any_pool},
      {"conv_direct_nhwc_kernel", cuts_of_nhwc},
      {"conv_direct_pixels_kernel", cuts_of_pixels},
      {"conv_implicit_gemm_kernel", cuts_of_implicit_gemm},
      {"conv_implicit_gemm_rows_kernel", cuts_of_implicit_gemm_rows},
      {"conv_im2col_gemm_unroll_kernel", cuts_of_im2col},
      {"conv_winograd_input_kernel", [](const Seen& seen) { return cuts_of_winograd(seen, 1); }},
      {"conv_winograd_output_kernel", [](const Seen& seen) { return cuts_of_winograd(seen, 1); }},
      {"conv_winograd_few_channels_kernel",
       [](const Seen& seen) { return cuts_of_winograd(seen, seen.number(1)); }},
      {"conv_winograd_multiply_kernel", cuts_of_multiply},
      {"conv_winograd_fused_input_kernel", cuts_of_winograd_fused},
      {"conv_winograd_fused_kernel", cuts_of_winograd_fused},
      {"conv_tensor_core_mma_kernel", cuts_of_mma},
      {"conv_tensor_core_wgmma_kernel", cuts_of_wgmma},
      {"conv_depthwise_rows_kernel", cuts_of_depthwise_rows},
      {"conv_depthwise_channels_kernel",
       [](const Seen& seen) { return cuts_of_depthwise_channels(seen, seen.number(3), 4); }},
      {"conv_depthwise_any_kernel", [](const Seen& seen) { return cuts_of_depthwise_channels(seen, 1, 1); }},
      {"bias_relu_kernel", cuts_of_bias_relu},
  };
  return map;
}

const Exempt kExempt[] = {
    {"conv_direct_(any|any_pool|nhwc)_kernel<1,", "filters of a group", "is for groups of one filter"},
    {"conv_direct_rows_kernel<1, 6,", "columns", "W a multiple of 4 leaves Q = W - 4 one"},
    {"conv_direct_rows_kernel<3, ., 3, 3, 1, 1,", "columns", "Q = W, a multiple of 4"},
    {"conv_direct_tile_kernel<3, 3, (1|2, .*false)", "images in one copy",
     "rows of a tile are padded beyond W"},
    {"conv_depthwise_rows_kernel<., ., 1, ., 4, 4>|conv_depthwise_rows_kernel<3, 3, 1, 1, 2, 4>", "columns",
     "Q is W or W - 4, both multiples of 4"},
    {"conv_winograd_multiply_kernel<.*SgemmTile<(8|16|32|64),", "filters of a group",
     "is chosen where one tile takes all filters"},
    {"conv_winograd_fused_kernel<4>", "",
     "is for cards with less shared memory than an H200: ServeSmallerCards"},
    {"bias_relu_kernel<., unsigned long>", "", "is for 2^31 values and more, which linear layers alone have"},
};

/// Whether the census counts a kernel of that name.
bool counted(const std::string& base) { return readers().count(base) != 0 || base.rfind("conv_", 0) == 0; }

KernelCensus& census() {
  static KernelCensus one(readers(), {std::begin(kExempt), std::end(kExempt)});
  return one;
}

/// With bias and ReLU.
std::unique_ptr<ConvKernel> prepare(const ConvBackend& backend, const Conv2dProblem& problem, MathMode math,
                                    size_t limit, const std::optional<Pool2dWindow>& window, Stream& stream) {
  DevicePrepareServices services(stream);
  const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements())),
      bias(static_cast<size_t>(problem.k));
  return backend.prepare({problem, math, weights.data(), bias.data(), backend.fuses_relu(), limit, services,
                          stream, "", window});
}

void run(ConvKernel& kernel, Stream& stream) {
  const Buffer x(stream.device(), 256), y(stream.device(), 256), workspace(stream.device(), 256);
  RunContext context{stream, workspace.data(), nullptr};
  kernel.run({x.as<float>(), y.as<float>()}, context);
}

void run_once(const ConvBackend& backend, const Conv2dProblem& problem, MathMode math, size_t limit,
              const std::optional<Pool2dWindow>& window, Stream& stream) {
  const auto kernel = prepare(backend, problem, math, limit, window, stream);
  ASSERT_LE(kernel->workspace_bytes(), limit);
  run(*kernel, stream);
}

/// The problems that conv_backends_test.cpp and conv_pooling_test.cpp verify on a card.
void run_lists(const Card& card) {
  census().begin(card);
  Stream stream(Device::cuda());
  for (const std::string& name : backend_names()) {
    if (name == "cudnn") continue;  // launches no kernel of ours
    const ConvBackend& backend = find_conv_backend(DeviceKind::kCuda, name).open();
    const auto run_list = [&](const std::string& list, bool limited) {
      const std::vector<Conv2dProblem> problems = problems_of(name, list);
      for (size_t i = 0; i < problems.size(); ++i) {
        for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
          const Conv2dProblem& problem = problems[i];
          if (!backend.supports(problem, math)) continue;
          SCOPED_TRACE(concat(name, " ", problem.to_string()));
          if (limited) {
            for (const size_t limit : workspace_limits(backend, problem, math))
              run_once(backend, problem, math, limit, std::nullopt, stream);
            continue;
          }
          run_once(backend, problem, math, SIZE_MAX, std::nullopt, stream);
          for (const Pool2dWindow& window : windows_of(problem, i)) {
            if (backend.fuses_max_pool(problem, math, window))
              run_once(backend, problem, math, SIZE_MAX, window, stream);
          }
        }
      }
    };
    for (const std::string& part : list_parts()) run_list(part, false);
    run_list("rounds", true);
  }
}

TEST(ConvLaunches, ShowEveryKernelAtWork) {
  run_lists({132, 90, 227 * 1024});  // H200
  EXPECT_GT(census().count(counted), 100);
  for (const std::string& line : census().missing(counted)) ADD_FAILURE() << line;
}

// Fewer multiprocessors, less shared memory, older instructions:
// everything that a backend supports can be prepared.
TEST(ConvLaunches, ServeSmallerCards) {
  run_lists({28, 86, 99 * 1024});
  EXPECT_TRUE(census().launched("conv_winograd_fused_kernel<4>"));
  EXPECT_TRUE(census().launched("conv_tensor_core_mma_kernel"));
  EXPECT_FALSE(census().launched("conv_tensor_core_wgmma_kernel"));
  run_lists({40, 75, 64 * 1024});
  EXPECT_FALSE(census().launched("conv_winograd_fused_kernel"));
  EXPECT_FALSE(census().launched("conv_tensor_core_mma_kernel"));
  EXPECT_FALSE(census().launched("conv_implicit_gemm_rows_kernel"));
  EXPECT_TRUE(census().launched("conv_winograd_multiply_kernel"));
}

// Operators that share a kernel need different amounts of shared memory: none takes it from another.
TEST(ConvLaunches, KeepTheirSharedMemoryBesideOthers) {
  simulated_gpu::insert({132, 90, 227 * 1024});
  simulated_gpu::on_launch(nullptr);
  Stream stream(Device::cuda());
  for (const std::string& name : backend_names()) {
    if (name == "cudnn") continue;  // has no kernel of ours
    const ConvBackend& backend = find_conv_backend(DeviceKind::kCuda, name).open();
    std::vector<std::pair<std::string, std::unique_ptr<ConvKernel>>> kernels;
    for (const Conv2dProblem& problem : problems_of(name, "deep3x3")) {
      for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
        if (!backend.supports(problem, math)) continue;
        kernels.emplace_back(problem.to_string(),
                             prepare(backend, problem, math, SIZE_MAX, std::nullopt, stream));
      }
    }
    for (const auto& [problem, kernel] : kernels) {
      SCOPED_TRACE(concat(name, " ", problem));
      EXPECT_NO_THROW(run(*kernel, stream));
    }
  }
}

__global__ void shared_by_two_operators_kernel() {}

// While one thread raises a kernel's limit, another asks for more: the higher limit stays.
TEST(ConvLaunches, KeepTheirSharedMemoryBesideOtherThreads) {
  constexpr size_t kLess = 64 * 1024, kMore = 128 * 1024;
  simulated_gpu::insert({132, 90, 227 * 1024});
  simulated_gpu::on_launch(nullptr);
  const auto* const kernel = reinterpret_cast<const void*>(shared_by_two_operators_kernel);
  std::future<void> other;
  std::atomic<bool> first{true};
  simulated_gpu::on_attributes([&] {
    if (!first.exchange(false)) return;
    other = std::async(std::launch::async, [&] { allow_shared_bytes(kernel, kMore); });
    other.wait_for(std::chrono::milliseconds(200));  // it must wait for this thread
  });
  allow_shared_bytes(kernel, kLess);
  other.get();
  simulated_gpu::on_attributes(nullptr);
  cudaFuncAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, static_cast<int>(kMore));
}

}  // namespace
}  // namespace lenslet
