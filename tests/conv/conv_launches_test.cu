// Every convolution kernel has a problem, in the lists on which every backend is verified, that exercises it: the
// kernel is launched, with at least two tiles, the last partly filled, in each direction of the launch. The kernels are
// those that the program registers with the CUDA runtime, so a new instantiation without a problem fails here. No GPU
// is needed: the GPUs are simulated, and the host's decisions for them are real. launch_limits_test.cu has the limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/base/integer_math.h"
#include "layers/conv/gpu/depthwise/channels.cuh"
#include "layers/conv/gpu/depthwise/rows.cuh"
#include "layers/conv/gpu/direct/any.cuh"
#include "layers/conv/gpu/direct/nhwc.cuh"
#include "layers/conv/gpu/direct/pixels.cuh"
#include "layers/conv/gpu/direct/rows.cuh"
#include "layers/conv/gpu/direct/strip.cuh"
#include "layers/conv/gpu/direct/tile.cuh"
#include "layers/conv/gpu/im2col_shape.cuh"
#include "layers/conv/gpu/implicit_gemm/kernel.cuh"
#include "layers/conv/gpu/implicit_gemm/rows.cuh"
#include "layers/conv/gpu/sliced_k/kernel.cuh"
#include "layers/conv/gpu/split_gemm/kernel.cuh"
#include "layers/conv/gpu/tensor_core/few.cuh"
#include "layers/conv/gpu/tensor_core/mma.cuh"
#include "layers/conv/gpu/tensor_core/tma_pack.cuh"
#include "layers/conv/gpu/tensor_core/tma_tile.cuh"
#include "layers/conv/gpu/tensor_core/wgmma_tile.cuh"
#include "layers/conv/gpu/winograd/fused.cuh"
#include "layers/conv/gpu/winograd/kernels.cuh"
#include "tests/conv/conv_fixture.h"
#include "tests/conv/launches_fixture.h"
#include "tests/support/gpus.h"
#include "tests/support/kernel_census.h"
#include "tests/support/simulated_gpu.h"

namespace lenslet {
namespace {

using simulated_gpu::Gpu;

std::string name_of_gpu(const testing::TestParamInfo<Gpu>& info) {
  std::string name = info.param.name;
  name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
  return name;
}

Directions directions_of_tile(const Seen& seen) {
  const auto& shape = seen.argument<DirectTileShape>(0);
  const int out = seen.number(3), rows = seen.number(4), columns = seen.number(5);
  Directions directions = {{"images", shape.n, shape.images},
                           {"rows", shape.p, int64_t{shape.row_patches} * rows},
                           {"columns", shape.q, int64_t{shape.column_patches} * columns},
                           {"filters", shape.k, int64_t{shape.filter_groups} * out},
                           {"channels", shape.c, shape.chunk},
                           {"columns of a thread", shape.q, columns}};
  if (shape.images > 1) directions.push_back({"images side by side", shape.n, shape.images});
  if (shape.images > 1 && shape.contiguous)
    directions.push_back({"images in one copy", shape.n, shape.images});
  if (shape.filter_groups > 1) directions.push_back({"filters side by side", shape.k, int64_t{2} * out});
  return directions;
}

Directions directions_of_strip(const Seen& seen) {
  const auto& shape = seen.argument<DirectStripShape>(1);
  const int64_t groups = (shape.w + kDirectStripColumns - 1) / kDirectStripColumns;
  Directions directions = {{"warps", shape.warps, kDirectStripThreads / 32},
                           {"columns", shape.w, kDirectStripColumns},
                           {"images", shape.warps / shape.strips / groups, 1}};
  if (shape.p / shape.strips > 1) directions.push_back({"rows", shape.p, shape.p / shape.strips});
  return directions;
}

Directions directions_of_rows(const Seen& seen) {
  const auto& shape = seen.argument<DirectRowsShape>(1);
  const bool pool = seen.number(8) != 0;
  const int64_t rows = pool ? seen.number(6) / 2 : seen.number(6), columns = pool ? 2 : 4;
  const int64_t in_image = ceil_div(shape.p, rows) * ceil_div(shape.q, columns);
  return {{"segments", shape.segments, seen.threads()},
          {"rows", shape.p, rows},
          {"columns", shape.q, columns},
          {"images", shape.segments / in_image, 1}};
}

Directions directions_of_any(const Seen& seen) {
  const auto& shape = seen.argument<DirectAnyShape>(0);
  return {{"positions", shape.pixels, kDirectAnyThreads},
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"groups", shape.k / shape.group_filters, 1},
          {"images", shape.pixels / (int64_t{shape.p} * shape.q), 1}};
}

Directions directions_of_any_pool(const Seen& seen) {
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

Directions directions_of_nhwc(const Seen& seen) {
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

Directions directions_of_pixels(const Seen& seen) {
  const auto& shape = seen.argument<DirectPixelsShape>(1);
  return {{"pixels", shape.pixels, kDirectPixelsThreads},
          {"images", shape.pixels / (int64_t{shape.p} * shape.q), 1}};
}

Directions directions_of_implicit_gemm(const Seen& seen) {
  const auto& shape = seen.argument<ImplicitGemmShape>(0);
  return {{"positions", shape.positions, seen.number(1)},
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"steps", shape.steps, 2},
          {"groups", seen.launch.grid.y, 1},
          {"images", shape.positions / shape.plane, 1},
          {shape.vector_store ? "positions, four stored at once" : "positions, stored one by one",
           shape.positions, seen.number(1)}};
}

Directions directions_of_implicit_gemm_rows(const Seen& seen) {
  const auto& shape = seen.argument<ImplicitGemmRowsShape>(0);
  return {{"positions", shape.positions, seen.number(1)},
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"steps", shape.steps, 3},  // stages
          {"groups", seen.launch.grid.y, 1},
          {"images", shape.positions / (int64_t{shape.plane} / shape.q * shape.w), 1}};
}

Directions directions_of_im2col(const Seen& seen) {
  const auto& shape = seen.argument<Im2colShape>(2);
  return {{"pixels", shape.pixels, seen.threads()},
          {"channels", shape.channels, 1},
          {"images", shape.images, 1},
          {"pixels before this round", shape.first_pixel, shape.pixels}};
}

Directions directions_of_winograd(const Seen& seen, int64_t filters_at_once) {
  const auto& shape = seen.argument<WinogradShape>(0);
  return {{"tiles", shape.tiles, shape.chunk},
          {"tiles before this round", seen.argument<int>(1), 1},
          {"rows", shape.p, 2},
          {"columns", shape.q, 2},
          {"filters", shape.k, filters_at_once},
          {"channels", shape.c, 1}};
}

Directions directions_of_multiply(const Seen& seen) {
  const auto& shape = seen.argument<WinogradShape>(0);
  return {{"tiles of a round", shape.chunk, seen.number(1) - 1},  // whole blocks: never partly filled
          {"filters of a group", shape.group_filters, seen.number(0)},
          {"channels of a group", shape.group_channels, seen.number(2)},
          {"groups", seen.launch.grid.z, 1}};
}

Directions directions_of_winograd_fused(const Seen& seen) {
  const auto& shape = seen.argument<WinogradFusedShape>(0);
  return {{"tiles", shape.tiles, kWinogradFusedTiles},
          {"blocks before this round", seen.argument<int>(1), 1},
          {"rows", shape.p, 4},
          {"columns", shape.q, 4},
          {"filters", shape.k, kWinogradFusedFilters},
          {"channels", shape.c, kWinogradFusedChannels}};
}

Directions directions_of_mma(const Seen& seen) {
  const auto& shape = seen.argument<TensorCoreMmaShape>(0);
  return {{"positions", shape.positions, seen.number(3)},
          {"filters of a group", shape.group_filters, seen.number(2)},
          {"steps", shape.steps, 5},  // more than stages
          {"groups", seen.launch.grid.y, 1},
          {"images", shape.positions / shape.plane, 1}};
}

Directions directions_of_few(const Seen& seen) {
  const auto& shape = seen.argument<TensorCoreFewShape>(0);
  const int64_t images = shape.images, strips = images * shape.strips;
  const bool padded = shape.plane != shape.h * shape.w;
  return {{"stages", ceil_div(shape.n, images), seen.launch.grid.x},
          {padded ? "images with padding" : "images in one copy", shape.n, images},
          {"strips", strips, 8},
          {"rows", shape.p, kFewRows},
          {"columns", shape.q, 1},
          {shape.pool ? "pooled" : "not pooled", 2, 1}};
}

Directions directions_of_wgmma(const Seen& seen) {
  const auto& shape = seen.argument<WgmmaShape>(0);
  const int tiles_m = seen.number(2), channels = seen.number(0) == static_cast<int>(MathMode::kTf32) ? 8 : 16;
  return {{"tiles", shape.tiles, seen.launch.grid.x},
          {"positions", shape.padded_pixels, int64_t{128} * tiles_m},
          {"filters", shape.k, seen.number(3)},
          {"channels", shape.c, channels},
          {"slices", shape.slices, 1},
          {"images", shape.padded_pixels / ((int64_t{shape.p} + shape.taps / shape.s - 1) * shape.q), 1}};
}

/// The number of a template argument that is a type of that name, such as Filters<64>.
int named(const Seen& seen, const std::string& type) {
  const size_t found = seen.name.find(type + "<");
  if (found == std::string::npos) throw std::invalid_argument(seen.name + " has no " + type);
  return std::stoi(seen.name.substr(found + type.size() + 1));
}

Directions directions_of_tma(const Seen& seen) {
  const auto& shape = seen.argument<TmaShape>(0);
  Directions directions = {{"positions", shape.positions, int64_t{64} * named(seen, "Warpgroups")},
                           {"filters", shape.k, named(seen, "Filters")},
                           {"products", shape.products, named(seen, "Stages")},  // more than stages
                           {"runs", shape.runs, 1},
                           {"images", shape.positions / shape.plane, 1}};
  if (shape.parts > 1) {
    directions.push_back({"parts", shape.products, shape.parts});
  } else {
    directions.push_back({"tiles", shape.tiles, seen.launch.grid.x});
  }
  return directions;
}

Directions directions_of_kept(const Seen& seen) {
  const auto& shape = seen.argument<TmaShape>(0);
  const TmaKeptSizes& sizes = shape.kept;
  return {{"positions", int64_t{shape.positions} / sizes.q * sizes.columns, named(seen, "Positions")},
          {"filters", shape.k, named(seen, "Filters")},
          {"rows of filters", sizes.steps / sizes.row_steps, 1},
          {"steps of a row", sizes.row_steps, 1},
          {"steps", ceil_div(shape.tiles, int64_t{seen.launch.grid.x}) * sizes.steps, sizes.stages},
          {"runs", shape.runs, 1},
          {"images", shape.positions / shape.plane, 1},
          {"tiles", shape.tiles, seen.launch.grid.x}};
}

Directions directions_of_pack(const Seen& seen) {
  const auto& shape = seen.argument<TmaPackShape>(0);
  return {{"pixels", shape.pixels, kTmaPackPixels},
          {"pieces", shape.pieces, kTmaPackPieces},
          {"channels", shape.c, seen.number(0) == static_cast<int>(MathMode::kTf32) ? 4 : 8},
          {"images", shape.pixels / shape.plane, 1}};
}

Directions directions_of_sliced_k(const Seen& seen) {
  const auto& shape = seen.argument<SlicedKShape>(0);
  const int pooled = shape.pool ? 2 : 1;
  const int64_t p = shape.p / pooled * pooled, q = shape.q / pooled * pooled;
  const int64_t columns = int64_t{1} << shape.column_bits, rows = shape.pixels() / columns;
  const int64_t groups = shape.k / shape.group_filters;
  const int64_t tiles = ceil_div(p, rows) * ceil_div(q, columns);
  return {{"rows", p, rows},
          {"columns", q, columns},
          {"filters of a group", shape.group_filters, seen.number(1)},
          {"groups", groups, 1},
          {"channels", shape.group_channels, shape.warp_channels},
          {"rounds", shape.warp_channels, shape.round},
          {"images", seen.launch.grid.x / tiles, 1},
          {shape.pool ? "pooled" : "not pooled", 2, 1}};
}

Directions directions_of_split_gemm(const Seen& seen) {
  const auto& shape = seen.argument<SplitGemmShape>(0);
  const int64_t groups = shape.k / shape.group_filters;
  Directions directions = {
      {"positions", shape.positions, seen.number(1)},
      {"filters of a group", shape.group_filters, seen.number(0)},
      {"steps of a block", ceil_div(shape.steps, shape.split_k), seen.number(4) - 1},  // stages ahead
      {"groups", groups, 1},
      {"images", shape.positions / shape.plane, 1},
      {shape.vector_store ? "positions, four stored at once" : "positions, stored one by one",
       shape.positions, seen.number(1)}};
  if (shape.split_k > 1) directions.push_back({"blocks of a cluster", shape.split_k, 1});
  return directions;
}

Directions directions_of_depthwise_rows(const Seen& seen) {
  const auto& shape = seen.argument<DepthwiseShape>(0);
  const int rows = seen.number(4);
  const int64_t of_plane = ceil_div(shape.p, rows) * ceil_div(shape.q, 4);
  return {{"segments", shape.segments, seen.threads()},
          {"rows", shape.p, rows},
          {"columns", shape.q, 4},
          {"images", shape.segments / of_plane / shape.k, 1}};
}

Directions directions_of_depthwise_channels(const Seen& seen, int64_t rows, int64_t columns) {
  const auto& shape = seen.argument<DepthwiseChannelsShape>(0);
  Directions directions = {{"threads", shape.threads, seen.threads()},
                           {"rows", shape.p, rows},
                           {"columns", shape.q, columns},
                           {"channels", shape.c, 1}};
  return directions;
}

/// How to read a launch of the kernel of that name.
const std::map<std::string, DirectionReader>& readers() {
  static const std::map<std::string, DirectionReader> map = {
      {"conv_direct_tile_kernel", directions_of_tile},
      {"conv_direct_strip_kernel", directions_of_strip},
      {"conv_direct_rows_kernel", directions_of_rows},
      {"conv_direct_any_kernel", directions_of_any},
      {"conv_direct_any_pool_kernel", directions_of_any_pool},
      {"conv_direct_nhwc_kernel", directions_of_nhwc},
      {"conv_direct_pixels_kernel", directions_of_pixels},
      {"conv_implicit_gemm_kernel", directions_of_implicit_gemm},
      {"conv_implicit_gemm_rows_kernel", directions_of_implicit_gemm_rows},
      {"conv_im2col_gemm_unroll_kernel", directions_of_im2col},
      {"conv_winograd_input_kernel", [](const Seen& seen) { return directions_of_winograd(seen, 1); }},
      {"conv_winograd_output_kernel", [](const Seen& seen) { return directions_of_winograd(seen, 1); }},
      {"conv_winograd_few_channels_kernel",
       [](const Seen& seen) { return directions_of_winograd(seen, seen.number(1)); }},
      {"conv_winograd_multiply_kernel", directions_of_multiply},
      {"conv_winograd_fused_input_kernel", directions_of_winograd_fused},
      {"conv_winograd_fused_kernel", directions_of_winograd_fused},
      {"conv_tensor_core_mma_kernel", directions_of_mma},
      {"conv_tensor_core_few_kernel", directions_of_few},
      {"conv_tensor_core_wgmma_kernel", directions_of_wgmma},
      {"conv_tensor_core_tma_kernel", directions_of_tma},
      {"conv_tensor_core_kept_kernel", directions_of_kept},
      {"conv_tensor_core_pack_kernel", directions_of_pack},
      {"conv_sliced_k_kernel", directions_of_sliced_k},
      {"conv_split_gemm_kernel", directions_of_split_gemm},
      {"conv_depthwise_rows_kernel", directions_of_depthwise_rows},
      {"conv_depthwise_channels_kernel",
       [](const Seen& seen) { return directions_of_depthwise_channels(seen, seen.number(3), 4); }},
      {"conv_depthwise_any_kernel",
       [](const Seen& seen) { return directions_of_depthwise_channels(seen, 1, 1); }},
      {"bias_rectifier_kernel", directions_of_bias_rectifier},
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
    {"conv_tensor_core_tma_kernel<.*Blocks<[23]>", "parts", "splits no tile"},
    {"conv_tensor_core_tma_kernel<.*TmaStores.1", "parts", "splits no tile"},
    {"conv_split_gemm_kernel<.*[)]0>", "positions, stored one by one", "reads planes of whole fours"},
    {"conv_tensor_core_few_kernel<.*true", "images with padding", "reads fp16, without padding"},
    {"conv_winograd_multiply_kernel<.*SgemmTile<(8|16|32|64),", "filters of a group",
     "is chosen where one tile takes all filters"},
    {"conv_winograd_fused_kernel<4>", "", "is for GPUs with less shared memory than an H200: EveryGpu"},
    {"bias_rectifier_kernel<., unsigned long>", "",
     "is for 2^31 values and more, which linear layers alone have"},
};

/// Whether the census counts a kernel of that name.
bool counted(const std::string& base) { return readers().count(base) != 0 || base.rfind("conv_", 0) == 0; }

KernelCensus& census() {
  static KernelCensus one(readers(), {std::begin(kExempt), std::end(kExempt)});
  return one;
}

void run_once(const ConvBackend& backend, const Conv2dProblem& problem, MathMode math, size_t limit,
              const std::optional<Pool2dWindow>& window, Stream& stream) {
  const auto kernel = prepare(backend, problem, math, limit, window, stream);
  ASSERT_LE(kernel->workspace_bytes(), limit);
  run(*kernel, stream);
  for (const ConvEnds& ends : kHalfEnds) {
    if (backend.takes_ends(problem, math, ends, window))
      run(*prepare(backend, problem, math, limit, window, stream, ends), stream);
  }
}

/// The problems that conv_backends_test.cpp and conv_pooling_test.cpp verify on a GPU.
void run_lists(const Gpu& gpu) {
  census().begin(gpu);
  Stream stream(Device::cuda());
  for (const std::string& name : backend_names()) {
    const ConvBackendEntry& entry = find_conv_backend(DeviceKind::kCuda, name);
    if (entry.kind() != ConvBackendEntry::Kind::kBuiltIn) continue;  // launches no kernel of ours
    const ConvBackend& backend = entry.open();
    const auto run_list = [&](const std::string& list, bool limited) {
      std::vector<Conv2dProblem> problems = problems_of(name, list);
      add_halves(problems, backend, list);
      for (size_t i = 0; i < problems.size(); ++i) {
        for (const MathMode math : kMathModes) {
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

class EveryGpu : public testing::TestWithParam<Gpu> {};

// Fewer or more multiprocessors, less shared memory, other instructions: everything that a backend supports can be
// prepared, and every launch is within the GPU's limits, which the simulated GPU enforces.
TEST_P(EveryGpu, RunsWhatABackendSupports) {
  const Gpu& gpu = GetParam();
  run_lists(gpu);
  const bool mma = gpu.compute_capability >= 80, wide = gpu.shared_bytes_per_block >= 144 * 1024;
  EXPECT_EQ(census().launched("conv_tensor_core_wgmma_kernel"), gpu.compute_capability == 90);
  EXPECT_EQ(census().launched("conv_tensor_core_tma_kernel"), gpu.compute_capability == 90);
  EXPECT_EQ(census().launched("conv_tensor_core_mma_kernel"), mma);
  EXPECT_EQ(census().launched("conv_tensor_core_few_kernel"), mma);
  EXPECT_EQ(census().launched("conv_implicit_gemm_rows_kernel"), mma);
  EXPECT_EQ(census().launched("conv_split_gemm_kernel"), gpu.compute_capability >= 90);
  EXPECT_EQ(census().launched("conv_winograd_fused_kernel<8>"), mma && wide);
  EXPECT_EQ(census().launched("conv_winograd_fused_kernel<4>"), mma && !wide);
  EXPECT_TRUE(census().launched("conv_winograd_multiply_kernel"));
}

INSTANTIATE_TEST_SUITE_P(ConvLaunches, EveryGpu, testing::ValuesIn(published_gpus()), name_of_gpu);

// F(4x4, 3x3) takes 4 * 6 * 6 * 32 bytes a channel for its smallest chunk, the three stages 4 * 16 * 128 for each of C
// and K. T4 lacks the instructions of the first.
TEST_P(EveryGpu, WinogradNamesTheSmallestLimitThatItTakes) {
  const Gpu& gpu = GetParam();
  census().begin(gpu);
  Stream stream(Device::cuda());
  const ConvBackend& winograd = find_conv_backend(DeviceKind::kCuda, "winograd").open();
  const bool fused = gpu.compute_capability >= 80;
  const struct {
    const char* problem;
    size_t bytes;
  } kCases[] = {{"mb8ic128ih28oc128kh3ph1", fused ? size_t{4608} * 128 : size_t{8192} * (128 + 128)},
                {"mb1ic32ih8oc32kh3ph1", size_t{8192} * (32 + 32)}};
  for (const auto& [text, bytes] : kCases) {
    SCOPED_TRACE(text);
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    EXPECT_EQ(winograd.min_workspace_bytes(problem, MathMode::kFp32), bytes);
    const auto prepared = [&](size_t limit) {
      return prepare(winograd, problem, MathMode::kFp32, limit, std::nullopt, stream);
    };
    EXPECT_EQ(prepared(bytes)->workspace_bytes(), bytes);
    try {
      prepared(bytes - 1);
      ADD_FAILURE() << "took less than its smallest workspace";
    } catch (const MemoryError& error) {
      EXPECT_NE(std::string(error.what()).find(concat("needs ", bytes, " bytes of workspace")),
                std::string::npos)
          << error.what();
    }
  }
}

// The choices of H100 and H200, whose kernels were measured there: a change is deliberate.
TEST(ConvLaunches, RunOnHopperAsMeasured) {
  const struct {
    const char* problem;
    const char* backend;
    MathMode math;
    const char* choice;  // the kernel's variant, then the blocks of its last launch
  } kPinned[] = {
      {"mb1ic1ih28oc6oh24kh5", "direct", MathMode::kFp32,
       "rows, 1x4 positions x 2 filters per thread; 5x3x1 of 32"},
      {"mb1ic1ih28oc6oh24kh5", "implicit_gemm", MathMode::kFp32,
       "16 filters x 32 positions per block; 18x1x1 of 32"},
      {"mb1ic1ih28oc6oh24kh5", "winograd", MathMode::kFp32, "F(2x2,5x5), 1 chunk of 256 tiles; 2x6x1 of 128"},
      {"mb1ic1ih28oc6oh24kh5", "tensor_core", MathMode::kTf32,
       "few, strips of 8x2 positions, 1 image per stage; 1x1x1 of 128"},
      {"mb1ic1ih28oc6oh24kh5", "tensor_core", MathMode::kFp16,
       "few, strips of 8x2 positions, 1 image per stage; 1x1x1 of 128"},
      {"mb64ic6ih12oc16oh8kh5", "direct", MathMode::kFp32,
       "tile, 1x4 positions x 2 filters per thread, 8112 bytes shared; 32x8x1 of 64"},
      {"mb64ic6ih12oc16oh8kh5", "implicit_gemm", MathMode::kFp32,
       "16 filters x 32 positions per block; 128x1x1 of 32"},
      {"mb64ic6ih12oc16oh8kh5", "winograd", MathMode::kFp32,
       "F(2x2,5x5), 1 chunk of 1024 tiles; 8x16x1 of 128"},
      {"mb64ic6ih12oc16oh8kh5", "tensor_core", MathMode::kTf32,
       "few, strips of 8x1 positions, 1 image per stage; 64x1x1 of 128"},
      {"mb64ic6ih12oc16oh8kh5", "tensor_core", MathMode::kFp16,
       "few, strips of 8x1 positions, 1 image per stage; 64x1x1 of 128"},
      {"mb10000ic6ih12oc16oh8kh5", "direct", MathMode::kFp32,
       "tile, 2x4 positions x 4 filters per thread, 32448 bytes shared; 1250x2x1 of 128"},
      {"mb10000ic6ih12oc16oh8kh5", "implicit_gemm", MathMode::kFp32,
       "16 filters x 128 positions per block; 5000x1x1 of 64"},
      {"mb10000ic6ih12oc16oh8kh5", "winograd", MathMode::kFp32,
       "F(2x2,5x5), 5 chunks of 32000 tiles; 250x2x1 of 128"},
      {"mb10000ic6ih12oc16oh8kh5", "tensor_core", MathMode::kTf32,
       "few, strips of 8x1 positions, 4 images per stage; 528x1x1 of 128"},
      {"mb10000ic6ih12oc16oh8kh5", "tensor_core", MathMode::kFp16,
       "few, strips of 8x1 positions, 4 images per stage; 528x1x1 of 128"},
      {"mb8ic64ih128oc256oh126kh3", "direct", MathMode::kFp32,
       "tile, 2x4 positions x 8 filters per thread, 25344 bytes shared; 256x16x1 of 128"},
      {"mb8ic64ih128oc256oh126kh3", "implicit_gemm", MathMode::kFp32,
       "128 filters x 128 positions per block, rows of three taps; 2016x1x1 of 256"},
      {"mb8ic64ih128oc256oh126kh3", "winograd", MathMode::kFp32,
       "F(4x4,3x3), products kept in registers, 1 chunk of 8192 tiles; 2048x1x1 of 384"},
      {"mb8ic64ih128oc256oh126kh3", "tensor_core", MathMode::kTf32,
       "wgmma, 256 positions x 128 filters, 3 slices of inputs, 4 stages of 3 taps; 132x1x1 of 512"},
      {"mb8ic64ih128oc256oh126kh3", "tensor_core", MathMode::kFp16,
       "tma, 128 positions x 128 filters, 2 blocks a multiprocessor; 264x1x1 of 288"},
      {"mb8ic128ih128oc256oh126kh3", "direct", MathMode::kFp32,
       "tile, 2x4 positions x 8 filters per thread, 25344 bytes shared; 256x16x1 of 128"},
      {"mb8ic128ih128oc256oh126kh3", "implicit_gemm", MathMode::kFp32,
       "128 filters x 128 positions per block, rows of three taps; 2016x1x1 of 256"},
      {"mb8ic128ih128oc256oh126kh3", "winograd", MathMode::kFp32,
       "F(4x4,3x3), products kept in registers, 1 chunk of 8192 tiles; 2048x1x1 of 384"},
      {"mb8ic128ih128oc256oh126kh3", "tensor_core", MathMode::kTf32,
       "wgmma, 256 positions x 128 filters, 3 slices of inputs, 4 stages of 3 taps; 132x1x1 of 512"},
      {"mb8ic128ih128oc256oh126kh3", "tensor_core", MathMode::kFp16,
       "tma, 128 positions x 128 filters, 2 blocks a multiprocessor; 264x1x1 of 288"},
      {"mb1ic64ih56oc64oh56kh3ph1", "direct", MathMode::kFp32,
       "tile, 1x4 positions x 2 filters per thread, 10816 bytes shared; 14x32x1 of 64"},
      {"mb1ic64ih56oc64oh56kh3ph1", "implicit_gemm", MathMode::kFp32,
       "16 filters x 128 positions per block; 100x1x1 of 64"},
      {"mb1ic64ih56oc64oh56kh3ph1", "winograd", MathMode::kFp32,
       "F(2x2,3x3), 1 chunk of 896 tiles; 7x64x1 of 128"},
      {"mb1ic64ih56oc64oh56kh3ph1", "tensor_core", MathMode::kTf32,
       "wgmma, 128 positions x 64 filters, 8 slices of inputs, 4 stages of 3 taps; 26x1x1 of 512"},
      {"mb1ic64ih56oc64oh56kh3ph1", "tensor_core", MathMode::kFp16,
       "tma, 64 positions x 64 filters, 1 block a multiprocessor; 49x1x1 of 160"},
      {"mb8ic256ih14oc1024oh14kh1", "tensor_core", MathMode::kTf32,
       "tma, 64 positions x 128 filters, 1 block a multiprocessor; 132x1x1 of 160"},
      {"mb1ic512ih14oc512oh7kh3sh2ph1", "tensor_core", MathMode::kTf32,
       "tma, 64 positions x 64 filters, 1 block a multiprocessor, split-K in 8 parts; 64x1x1 of 160"},
      {"mb1ic64ih56oc64oh56kh1", "split_gemm", MathMode::kFp32,
       "64 filters x 32 positions per block, sums split between 4 groups of warps; 98x1x1 of 128"},
      {"mb1ic512ih7oc512oh7kh3ph1", "split_gemm", MathMode::kFp32,
       "64 filters x 32 positions per block, sums split between 4 groups of warps of each of 8 blocks; "
       "128x1x1 of 128"},
      {"mb8ic1024ih14oc256oh14kh1", "split_gemm", MathMode::kFp32,
       "64 filters x 32 positions per block, sums split between 4 groups of warps of each of 2 blocks; "
       "392x1x1 of 128"},
      {"mb64ic256ih56oc128oh56kh1", "split_gemm", MathMode::kFp32,
       "64 filters x 128 positions per block; 3136x1x1 of 128"},
      {"mb64ic3ih224oc64oh112kh7sh2ph3", "split_gemm", MathMode::kFp32,
       "64 filters x 128 positions per block; 6272x1x1 of 128"},
      {"mb8ic3ih256oc3oh256kh3ph1", "direct", MathMode::kFp32,
       "strips of 7 rows, 4 columns x 3 channels a lane; 132x1x1 of 128"},
      {"mb8ic3ih256oc3oh256kh3ph1", "implicit_gemm", MathMode::kFp32,
       "8 filters x 256 positions per block; 2048x1x1 of 64"},
      {"mb8ic3ih256oc3oh256kh3ph1", "winograd", MathMode::kFp32,
       "F(2x2,3x3), 1 chunk of 131072 tiles; 1024x1x1 of 128"},
      {"mb8ic3ih256oc3oh256kh3ph1", "tensor_core", MathMode::kTf32,
       "mma, 16 filters x 128 positions per block; 4096x1x1 of 128"},
      {"mb8ic3ih256oc3oh256kh3ph1", "tensor_core", MathMode::kFp16,
       "mma, 16 filters x 128 positions per block; 4096x1x1 of 128"},
  };
  for (const int ordinal : {kH100, kH200}) {
    census().begin(published_gpus()[static_cast<size_t>(ordinal)]);
    Stream stream(Device::cuda());
    std::string blocks;
    simulated_gpu::on_launch([&](const simulated_gpu::Launch& launch) {
      blocks = concat(launch.grid.x, "x", launch.grid.y, "x", launch.grid.z, " of ", launch.block.x);
    });
    for (const auto& row : kPinned) {
      const ConvBackend& backend = find_conv_backend(DeviceKind::kCuda, row.backend).open();
      const auto kernel =
          prepare(backend, Conv2dProblem::parse(row.problem), row.math, SIZE_MAX, std::nullopt, stream);
      run(*kernel, stream);
      EXPECT_EQ(concat(kernel->detail(), "; ", blocks), row.choice)
          << row.problem << " " << row.backend << " " << to_string(row.math);
    }
  }
}

// A multiprocessor of an H200 has 228 KiB of shared memory, of which each block takes one more.
TEST(ConvLaunches, SplitGemmSpreadsFewBlocks) {
  constexpr size_t kOfMultiprocessor = size_t{228} * 1024, kOfBlock = 1024;
  census().begin(published_gpus()[kH200]);
  Stream stream(Device::cuda());
  const ConvBackend& backend = find_conv_backend(DeviceKind::kCuda, "split_gemm").open();
  const auto shared_bytes_of = [&](const char* problem) {
    size_t bytes = 0;
    simulated_gpu::on_launch([&](const simulated_gpu::Launch& launch) { bytes = launch.shared_bytes; });
    run(*prepare(backend, Conv2dProblem::parse(problem), MathMode::kFp32, SIZE_MAX, std::nullopt, stream),
        stream);
    return bytes + kOfBlock;
  };
  EXPECT_GT(2 * shared_bytes_of("mb1ic1024ih14oc256kh1"), kOfMultiprocessor);
  EXPECT_LE(4 * shared_bytes_of("mb64ic256ih56oc128kh1"), kOfMultiprocessor);
}

// The last rung of the ladder tensor_core is this kernel, and its row in the table says so.
TEST(ConvLaunches, KeepFiltersOnTheShapesOfTheLadder) {
  census().begin(published_gpus()[kH200]);
  Stream stream(Device::cuda());
  const ConvBackend& backend = find_conv_backend(DeviceKind::kCuda, "tensor_core").open();
  for (Conv2dProblem problem : problems_of("tensor_core", "deep3x3")) {
    if (problem.layout != TensorLayout::kNhwc) continue;
    const auto kernel = prepare(backend, problem, MathMode::kTf32, SIZE_MAX, std::nullopt, stream);
    // With 64 channels 64 filters fit. The smallest of these shapes has too few tiles of 192 positions.
    const char* const tile = problem.c == 32                       ? "64 positions x 128"
                             : problem.h == 64 && problem.k == 128 ? "64 positions x 64"
                                                                   : "192 positions x 64";
    EXPECT_EQ(kernel->detail(),
              concat("tma, ", tile, " filters, 1 block a multiprocessor, filters kept in shared memory"))
        << problem.to_string();
  }
}

}  // namespace
}  // namespace lenslet
