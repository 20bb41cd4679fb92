// What LeNet-5 runs with on GPUs that are not there: which whole-network backend `auto` takes for a batch, how
// these are launched, and what `tune` makes of a wrong guess. The GPUs are simulated, with their published limits, and
// refuse a launch beyond them; the host's decisions are real.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "framework/execution/executable.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/row_status.h"
#include "layers/fp16_ends.h"
#include "models/fused_lenet5/gpu/cluster/choices.h"
#include "models/fused_lenet5/gpu/fp32/choices.h"
#include "models/fused_lenet5/gpu/medium/choices.h"
#include "models/fused_lenet5/gpu/mma/choices.h"
#include "models/fused_lenet5/gpu/resident/arguments.h"
#include "models/fused_lenet5/gpu/resident/launch.h"
#include "models/fused_lenet5/pack_image.h"
#include "models/fused_lenet5/resident.h"
#include "models/fused_lenet5/spin_wait.h"
#include "models/lenet5_sizes.h"
#include "models/prediction.h"
#include "tests/support/expect_error.h"
#include "tests/support/gpus.h"
#include "tests/support/lenet5.h"
#include "tests/support/simulated_gpu.h"

namespace lenslet {
namespace {

using simulated_gpu::Gpu;
using simulated_gpu::Launch;

const std::vector<std::string> kRank = {"small", "medium", "mma", "fp32"};

const Gpu& gpu_at(int ordinal) { return published_gpus()[static_cast<size_t>(ordinal)]; }
GpuTraits limits_of(const Gpu& gpu) {
  return {gpu.compute_capability, gpu.multiprocessors, static_cast<size_t>(gpu.shared_bytes_per_block)};
}

class GpuChoices : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    simulated_gpu::insert(published_gpus());
    // What __launch_bounds__ allows them.
    simulated_gpu::set_registers("fused_lenet5_small_kernel", 255);
    simulated_gpu::set_registers("fused_lenet5_resident_kernel", 255);
    simulated_gpu::set_registers("fused_lenet5_medium_kernel", 128);
    simulated_gpu::set_registers("fused_lenet5_fp32_conv_kernel", 128);
    ASSERT_EQ(cuda_status().devices.size(), published_gpus().size());
  }
  void SetUp() override {
    launches_.clear();
    simulated_gpu::on_launch([this](const Launch& launch) { launches_.push_back(launch); });
  }
  void TearDown() override { simulated_gpu::on_launch(nullptr); }

  static OperatorRequest request(int ordinal, int64_t batch, MathMode math,
                                 ElementType input = ElementType::kUint8, ElementType output = kPrediction) {
    return lenet5().network_request(Device::cuda(ordinal), batch, math, input, output);
  }
  /// The whole-network backend of `auto`; empty if there is none.
  static std::string chosen(int ordinal, int64_t batch, MathMode math) {
    const BackendEntry* const entry = lenet5().network()->preferred_entry(request(ordinal, batch, math));
    return entry ? entry->name() : "";
  }
  /// Prepares and launches; returns how the operator describes itself.
  std::string launch(const std::string& backend, const OperatorRequest& request) {
    const DeviceGuard guard(request.device);
    Stream stream(request.device);
    const std::unique_ptr<Operator> op = lenet5().network()->prepare(backend, request, stream);
    launches_.clear();
    // An address of memory that the simulated GPU need not have.
    float* const data = reinterpret_cast<float*>(uintptr_t{1} << 44);  // NOLINT(performance-no-int-to-ptr)
    RunContext context{stream, data, nullptr};
    op->run({{data, request.inputs[0], request.device, request.input_type}},
            {data, request.output, request.device, request.output_type}, context);
    return op->detail();
  }

  std::vector<Launch> launches_;  // of the last operator; their arguments are gone
};

/// The largest batch of each backend, in the order in which they take over; 0: every larger batch.
struct Reign {
  std::string backend;
  int64_t last;
};
std::vector<Reign> expected_reigns(const Gpu& gpu, MathMode math) {
  const int64_t count = gpu.multiprocessors;
  if (gpu.compute_capability >= 90) {
    if (math == MathMode::kFp32) return {{"small", count / 2}, {"medium", 30 * count}, {"fp32", 0}};
    if (math == MathMode::kTf32) return {{"small", count / 2}, {"medium", 6 * count}, {"mma", 0}};
    if (math == MathMode::kInt8) return {{"mma", 0}};
    return {{"small", count / 2}, {"mma", 0}};
  }
  if (gpu.compute_capability < 80) return {{"", 0}};
  if (math == MathMode::kFp32) return {{"fp32", 0}};
  // Tensor cores' operands and weights of six warps need more shared memory than compute capability 8.9 has.
  return {{gpu.shared_bytes_per_block > 140 * 1024 ? "mma" : "", 0}};
}

TEST_F(GpuChoices, AutoTakesTheWholeNetworkBackendOfTheGpuAndTheBatch) {
  for (int ordinal = kT4; ordinal <= kB200; ++ordinal) {
    const Gpu& gpu = gpu_at(ordinal);
    for (const MathMode math : kMathModes) {
      const std::vector<Reign> reigns = expected_reigns(gpu, math);
      size_t reign = 0;
      for (int64_t batch = 1; batch <= 30 * gpu.multiprocessors; ++batch) {
        while (reigns[reign].last != 0 && batch > reigns[reign].last) ++reign;
        ASSERT_EQ(chosen(ordinal, batch, math), reigns[reign].backend)
            << gpu.name << " " << to_string(math) << " batch " << batch;
      }
      EXPECT_EQ(chosen(ordinal, 1000000, math), reigns.back().backend);
    }
  }
}

// A larger batch never goes back to a backend for smaller ones.
TEST_F(GpuChoices, TheChoiceIsMonotone) {
  const auto rank = [](const std::string& name) {
    return std::find(kRank.begin(), kRank.end(), name) - kRank.begin();
  };
  for (int ordinal = kT4; ordinal <= kB200; ++ordinal) {
    for (const MathMode math : kMathModes) {
      std::ptrdiff_t last = 0;
      for (int64_t batch = 1; batch < 200000; batch += 1 + batch / 50) {
        const std::ptrdiff_t now = rank(chosen(ordinal, batch, math));
        ASSERT_GE(now, last) << gpu_at(ordinal).name << " " << to_string(math) << " batch " << batch;
        last = now;
      }
    }
  }
}

TEST_F(GpuChoices, WhatAGpuLacksIsRefusedByName) {
  const struct {
    int ordinal;
    const char* backend;
    MathMode math;
    const char* reason;
  } kRefusals[] = {
      {kT4, "small", MathMode::kFp32,
       "small launches clusters of blocks: it needs compute capability 9.0, this GPU has 7.5: use another "
       "backend"},
      {kRtx4090, "medium", MathMode::kTf32,
       "medium launches clusters of blocks: it needs compute capability 9.0, this GPU has 8.9: use another "
       "backend"},
      {kT4, "mma", MathMode::kFp16, "mma needs compute capability 8.0, this GPU has 7.5: choose math fp32"},
      {kT4, "fp32", MathMode::kFp32,
       "fp32 copies to shared memory asynchronously: it needs compute capability 8.0, this GPU has 7.5: "
       "use the layered plan"},
      {kT4, "mma", MathMode::kInt8, "mma needs compute capability 8.0, this GPU has 7.5: choose math fp32"},
      {kH100, "small", MathMode::kInt8, "small computes in fp32, or with tf32 or fp16 weights, not in int8"},
      {kH100, "medium", MathMode::kInt8,
       "medium computes in fp32, or with tf32 weights, not in int8: use mma"},
      {kB200, "fp32", MathMode::kInt8, "fp32 rounds no operand, unlike int8"},
      {kL4, "mma", MathMode::kTf32,
       "bytes of shared memory a block, this GPU has 101376: use the layered plan"},
      {kRtx4090, "mma", MathMode::kFp16, "mma needs "},
      {kH100, "medium", MathMode::kFp16,
       "medium computes in fp32, or with tf32 weights, not in fp16: use mma"},
      {kB200, "mma", MathMode::kFp32, "mma rounds its operands to tf32 or fp16, not fp32"},
      {kB200, "fp32", MathMode::kTf32, "fp32 rounds no operand, unlike tf32"},
  };
  for (const auto& row : kRefusals) {
    const Support support = lenet5().network()->supports(row.backend, request(row.ordinal, 8, row.math));
    EXPECT_FALSE(support) << row.backend;
    EXPECT_NE(support.reason().find(row.reason), std::string::npos) << support.reason();
    EXPECT_NE(support.reason().find(row.backend), std::string::npos) << support.reason();
  }
}

// Every backend that a GPU supports, for the batches around each border: the GPU takes the launches, there is work
// for each block, and no more blocks than run at once where a block takes several turns.
TEST_F(GpuChoices, EveryLaunchFitsTheGpu) {
  for (int ordinal = kT4; ordinal <= kB200; ++ordinal) {
    const Gpu& gpu = gpu_at(ordinal);
    const int64_t count = gpu.multiprocessors;
    int prepared = 0;
    for (const std::string& backend : kRank) {
      for (const MathMode math : kMathModes) {
        for (const auto& [input, output] : {std::pair{ElementType::kUint8, kPrediction},
                                            std::pair{ElementType::kFp32, ElementType::kFp32}}) {
          for (const int64_t batch : {int64_t{1}, int64_t{2}, int64_t{9}, int64_t{17}, count / 2,
                                      count / 2 + 1, 5 * count + 1, 28 * count + 1, int64_t{140001}}) {
            const OperatorRequest wanted = request(ordinal, batch, math, input, output);
            if (!lenet5().network()->supports(backend, wanted)) continue;
            SCOPED_TRACE(concat(gpu.name, " ", backend, " ", to_string(math), " batch ", batch));
            ASSERT_NO_THROW(launch(backend, wanted));
            ASSERT_FALSE(launches_.empty());
            ++prepared;
            if (backend == "fp32") continue;  // has a grid of its own for the linear layers
            const int64_t blocks = launches_[0].grid.x;
            EXPECT_LE(blocks, count) << "one block on each multiprocessor";
            EXPECT_LE(blocks / launches_[0].cluster_blocks, batch) << "a cluster or block has an image";
          }
        }
      }
    }
    EXPECT_EQ(prepared > 0, gpu.compute_capability >= 80) << gpu.name;
  }
}

// All images that `small` is chosen for run at once.
TEST_F(GpuChoices, SmallBatchesNeedOneTurn) {
  for (const int ordinal : {kH100, kH200, kB200}) {
    for (int64_t batch = 1; batch <= gpu_at(ordinal).multiprocessors / 2; ++batch) {
      (void)launch("small", request(ordinal, batch, MathMode::kFp32));
      ASSERT_EQ(launches_.size(), 1u);
      EXPECT_EQ(launches_[0].grid.x, batch * launches_[0].cluster_blocks) << gpu_at(ordinal).name;
    }
  }
}

// The choices of H100 and H200, whose kernels were measured there: a change is deliberate.
TEST_F(GpuChoices, HopperRunsAsMeasured) {
  const struct {
    MathMode math;
    int64_t batch;
    const char* backend;
    const char* detail;
  } kPinned[] = {
      {MathMode::kFp32, 1, "small", "1 cluster of 16 blocks, an image each"},
      {MathMode::kFp32, 2, "small", "2 clusters of 8 blocks, an image each"},
      {MathMode::kFp32, 8, "small", "8 clusters of 8 blocks, an image each"},
      {MathMode::kFp32, 9, "small", "9 clusters of 4 blocks, an image each"},
      {MathMode::kFp32, 16, "small", "16 clusters of 4 blocks, an image each"},
      {MathMode::kFp32, 17, "small", "17 clusters of 2 blocks, an image each"},
      {MathMode::kFp32, 66, "small", "66 clusters of 2 blocks, an image each"},
      {MathMode::kFp32, 67, "medium", "Winograd F(4, 5) along rows, 67 blocks, 1 image at once"},
      {MathMode::kFp32, 1000, "medium", "Winograd F(4, 5) along rows, 132 blocks, 8 images at once"},
      {MathMode::kFp32, 1057, "medium", "Winograd F(4, 5) along rows, 132 blocks, 9 images at once"},
      {MathMode::kFp32, 1320, "medium", "Winograd F(4, 5) along rows, 132 blocks, 10 images at once"},
      {MathMode::kFp32, 1321, "medium", "Winograd F(4, 5) along rows, 132 blocks, 10 images at once"},
      {MathMode::kFp32, 1584, "medium", "Winograd F(4, 5) along rows, 132 blocks, 8 images at once"},
      {MathMode::kFp32, 2112, "medium", "Winograd F(4, 5) along rows, 132 blocks, 8 images at once"},
      {MathMode::kFp32, 2376, "medium", "Winograd F(4, 5) along rows, 132 blocks, 10 images at once"},
      {MathMode::kFp32, 3960, "medium", "Winograd F(4, 5) along rows, 132 blocks, 10 images at once"},
      {MathMode::kFp32, 3961, "fp32",
       "Winograd F(4, 5) along rows, 16 images per block in the linear layers"},
      {MathMode::kFp32, 10000, "fp32",
       "Winograd F(4, 5) along rows, 64 images per block in the linear layers"},
      {MathMode::kFp32, 200000, "fp32",
       "Winograd F(4, 5) along rows, 128 images per block in the linear layers"},
      {MathMode::kTf32, 1, "small", "1 cluster of 16 blocks, an image each, tf32 weights"},
      {MathMode::kTf32, 8, "small", "8 clusters of 8 blocks, an image each, tf32 weights"},
      {MathMode::kTf32, 66, "small", "66 clusters of 2 blocks, an image each, tf32 weights"},
      {MathMode::kTf32, 67, "medium",
       "Winograd F(4, 5) along rows, 67 blocks, 1 image at once, tf32 weights"},
      {MathMode::kTf32, 528, "medium",
       "Winograd F(4, 5) along rows, 132 blocks, 4 images at once, tf32 weights"},
      {MathMode::kTf32, 792, "medium",
       "Winograd F(4, 5) along rows, 132 blocks, 6 images at once, tf32 weights"},
      {MathMode::kTf32, 793, "mma", "132 blocks of 8 warps, 1 image per round"},
      {MathMode::kTf32, 10000, "mma", "132 blocks of 8 warps, 5 images per round"},
      {MathMode::kFp16, 1, "small", "1 cluster of 16 blocks, an image each, fp16 weights"},
      {MathMode::kFp16, 16, "small", "16 clusters of 4 blocks, an image each, fp16 weights"},
      {MathMode::kFp16, 17, "small", "17 clusters of 2 blocks, an image each, fp16 weights"},
      {MathMode::kFp16, 66, "small", "66 clusters of 2 blocks, an image each, fp16 weights"},
      {MathMode::kFp16, 67, "mma", "67 blocks of 12 warps, 1 image per round"},
      {MathMode::kFp16, 1000, "mma", "132 blocks of 12 warps, 1 image per round"},
      {MathMode::kFp16, 10000, "mma", "132 blocks of 12 warps, 7 images per round"},
      {MathMode::kFp16, 50688, "mma", "132 blocks of 12 warps, 8 images per round"},
      {MathMode::kFp16, 50689, "mma", "132 blocks of 8 warps, 14 images per round"},
      {MathMode::kFp16, 65536, "mma", "132 blocks of 8 warps, 16 images per round"},
      {MathMode::kInt8, 1, "mma", "1 blocks of 8 warps, 2 images per round"},
      {MathMode::kInt8, 67, "mma", "34 blocks of 8 warps, 2 images per round"},
      {MathMode::kInt8, 65536, "mma", "132 blocks of 8 warps, 16 images per round"},
  };
  for (const int ordinal : {kH100, kH200}) {
    for (const auto& row : kPinned) {
      const std::string backend = chosen(ordinal, row.batch, row.math);
      EXPECT_EQ(backend + ": " + launch(backend, request(ordinal, row.batch, row.math)),
                std::string(row.backend) + ": " + row.detail)
          << to_string(row.math) << " batch " << row.batch;
    }
  }
}

// fp16 `mma` convolves two images at a time where the buffers of four fit into a warp's shared memory.
TEST_F(GpuChoices, MmaTakesTwoImagesAtATimeWhereThereIsRoom) {
  const struct {
    int ordinal;
    int64_t batch;
    ElementType input;
    unsigned warps;
  } kRows[] = {
      {kA100, 1000000, ElementType::kUint8, 6}, {kA100, 1000000, ElementType::kFp32, 6},
      {kH200, 50688, ElementType::kUint8, 12},  {kH200, 50689, ElementType::kUint8, 8},
      {kH200, 50689, ElementType::kUint4, 8},   {kH200, 1000000, ElementType::kFp32, 12},
      {kB200, 56832, ElementType::kUint8, 12},  {kB200, 56833, ElementType::kUint8, 8},
      {kB200, 1000000, ElementType::kFp32, 12},
  };
  for (const auto& row : kRows) {
    for (const ElementType output : {ElementType::kFp32, kPrediction}) {
      SCOPED_TRACE(concat(gpu_at(row.ordinal).name, ", ", row.batch, " images of ", to_string(row.input)));
      (void)launch("mma", request(row.ordinal, row.batch, MathMode::kFp16, row.input, output));
      ASSERT_FALSE(launches_.empty());
      EXPECT_EQ(launches_.back().block.x, row.warps * 32);
    }
  }
}

TEST_F(GpuChoices, TheResidentKernelTakesTheLargestClustersThatFit) {
  const Lenet5Parameters parameters = lenet5_parameters(builtin_lenet5_weights());
  for (int ordinal = kT4; ordinal <= kB200; ++ordinal) {
    const DeviceGuard guard(Device::cuda(ordinal));
    Stream stream(Device::cuda(ordinal));
    if (gpu_at(ordinal).compute_capability < 90) {
      expect_error<UnavailableError>(
          [&] { const cluster_lenet5::ResidentLaunch launch(parameters, 1, stream); },
          "a resident kernel launches clusters of blocks: it needs compute capability 9.0, this GPU has ");
      continue;
    }
    constexpr std::array<int, 3> kRows[] = {{1, 1, 8},   {7, 4, 8},   {8, 8, 8},
                                            {16, 16, 8}, {32, 32, 4}, {64, 64, 2}};
    for (const auto& [max_clusters, clusters, blocks] : kRows) {
      SCOPED_TRACE(concat(gpu_at(ordinal).name, ", at most ", max_clusters, " clusters"));
      const cluster_lenet5::ResidentLaunch resident(parameters, max_clusters, stream);
      EXPECT_EQ(resident.clusters(), clusters);
      EXPECT_EQ(resident.blocks(), blocks);
      EXPECT_LE(resident.clusters() * resident.blocks(), gpu_at(ordinal).multiprocessors);
      launches_.clear();
      resident.enqueue(nullptr, {resident.clusters(), 1, {}, 1000000, 1000000}, stream);
      ASSERT_EQ(launches_.size(), 1u);
      EXPECT_EQ(launches_[0].cluster_blocks, blocks);
      EXPECT_EQ(launches_[0].grid.x, static_cast<unsigned>(clusters * blocks)) << "all clusters in a launch";
    }
  }
}

// A GPU on which no block fits.
TEST_F(GpuChoices, AreRefusedWhereNoClusterFits) {
  const Lenet5Parameters parameters = lenet5_parameters(builtin_lenet5_weights());
  std::vector<Gpu> full = published_gpus();
  for (Gpu& gpu : full) gpu.blocks_per_multiprocessor = 0;
  simulated_gpu::insert(full);
  expect_error<UnavailableError>(
      [&] { (void)launch("small", request(kH100, 1, MathMode::kFp32)); },
      "whole-network backend small: no cluster of 2 to 16 blocks fits on this GPU: use another backend");
  expect_error<UnavailableError>(
      [&] { (void)launch("medium", request(kH100, 100, MathMode::kFp32)); },
      "medium: no block with 231616 bytes of shared memory fits on this GPU; use another backend");
  const DeviceGuard guard(Device::cuda(kH100));
  Stream stream(Device::cuda(kH100));
  expect_error<UnavailableError>(
      [&] { const cluster_lenet5::ResidentLaunch resident(parameters, 16, stream); },
      "a resident kernel: no cluster of 2 to 8 blocks fits on this GPU: use another backend");
  simulated_gpu::insert(published_gpus());
}

// A GPU whose largest cluster has eight blocks, or none that fits.
TEST(LaunchChoices, TakeTheClustersThatAGpuHas) {
  const auto up_to = [](int max_blocks) {
    return [max_blocks](int blocks) { return blocks <= max_blocks ? 96 / blocks : 0; };
  };
  const auto resident = [&](int max_clusters, int max_blocks) {
    const fused_lenet5::SmallLaunch launch = fused_lenet5::resident_launch(max_clusters, up_to(max_blocks));
    return std::pair{launch.clusters, launch.blocks};
  };
  EXPECT_EQ(resident(1, 16), (std::pair{1, 8}));
  EXPECT_EQ(resident(9, 16), (std::pair{8, 8})) << "9 fit, and 8 divide the slots";
  EXPECT_EQ(resident(16, 16), (std::pair{16, 4})) << "12 of 8 blocks fit, and 24 of 4";
  EXPECT_EQ(resident(64, 16), (std::pair{32, 2})) << "48 of 2 blocks fit";
  EXPECT_EQ(resident(8, 4), (std::pair{8, 4}));
  EXPECT_EQ(resident(64, 1), (std::pair{0, 0})) << "no cluster fits";
  const auto small = [&](int64_t count, int max_blocks) {
    const fused_lenet5::SmallLaunch launch = fused_lenet5::small_launch(count, up_to(max_blocks));
    return std::pair{launch.blocks, launch.clusters};
  };
  EXPECT_EQ(small(1, 16), (std::pair{16, 1}));
  EXPECT_EQ(small(2, 16), (std::pair{8, 2}));
  EXPECT_EQ(small(8, 16), (std::pair{8, 8}));
  EXPECT_EQ(small(9, 16), (std::pair{4, 9}));
  EXPECT_EQ(small(16, 16), (std::pair{4, 16}));
  EXPECT_EQ(small(17, 16), (std::pair{2, 17}));
  EXPECT_EQ(small(48, 16), (std::pair{2, 48}));
  EXPECT_EQ(small(1000, 16), (std::pair{2, 48})) << "they take turns";
  EXPECT_EQ(small(1, 8), (std::pair{8, 1}));
  EXPECT_EQ(small(1, 1), (std::pair{0, 0})) << "no cluster fits";
}

TEST(LaunchChoices, MmaEndsItsWarpsTogether) {
  for (const Gpu& gpu : published_gpus()) {
    for (const auto& [warps, together, max_images] :
         {std::array{6, 1, 8}, {8, 1, 8}, {12, 1, 8}, {8, 2, 16}, {6, 2, 8}}) {
      const int64_t at_once = int64_t{warps} * together * gpu.multiprocessors;
      const int64_t round = int64_t{warps} * max_images * gpu.multiprocessors;
      for (const int64_t count :
           {int64_t{1}, int64_t{7}, at_once - 1, at_once, at_once + 1, round, round + 1, int64_t{1000000}}) {
        const fused_lenet5::MmaKernel kernel{"", nullptr, warps, 0, together, max_images};
        const fused_lenet5::MmaLaunch launch = fused_lenet5::mma_launch(count, kernel, limits_of(gpu));
        SCOPED_TRACE(concat(gpu.name, " ", warps, " warps, ", together, " at a time, ", count, " images"));
        EXPECT_GE(launch.images_per_round, 1);
        EXPECT_LE(launch.images_per_round, max_images);
        EXPECT_EQ(launch.images_per_round % together, 0) << "no pass with a place left free in every round";
        EXPECT_GE(launch.blocks, 1);
        EXPECT_LE(launch.blocks, gpu.multiprocessors);
        EXPECT_LE(launch.blocks, count);
        const int64_t rounds = ceil_div(count, warps * launch.blocks * launch.images_per_round);
        EXPECT_LE(rounds, ceil_div(count, round)) << "no more rounds than full ones need";
      }
    }
  }
}

TEST(LaunchChoices, LinearLayersShareWeightsAsFarAsTheGpuAllows) {
  const auto bytes = [](int each) { return static_cast<size_t>(each * 7680 + 30720); };
  const auto images = [&](int64_t count, const GpuTraits& gpu) {
    return fused_lenet5::fp32_images_per_thread(count, gpu, bytes);
  };
  const GpuTraits h100 = limits_of(gpu_at(kH100)), t4 = limits_of(gpu_at(kT4));
  EXPECT_EQ(images(1, h100), 1);
  EXPECT_EQ(images(131 * 32, h100), 1);
  EXPECT_EQ(images(131 * 32 + 1, h100), 2);
  EXPECT_EQ(images(131 * 64 + 1, h100), 4);
  EXPECT_EQ(images(131 * 128 + 1, h100), 8);
  EXPECT_EQ(images(1000000, limits_of(gpu_at(kL4))), 8) << "90 KB of 99";
  EXPECT_EQ(images(1000000, t4), 4) << "60 KB of 64";
}

/// Backends that need a library, which the simulated GPUs do not have.
bool is_own(const std::string& backend) {
  return backend.find("cud") == std::string::npos && backend.find("cublas") == std::string::npos &&
         backend.find("cutlass") == std::string::npos && backend.find("im2col_gemm") == std::string::npos;
}

class TunedGpus : public GpuChoices {
 protected:
  static BuildOptions layered(int ordinal) { return options_on(Device::cuda(ordinal), 1000); }
  /// Layer and backend of each step.
  static std::vector<std::string> steps_of(const Executable& executable) {
    std::vector<std::string> steps;
    for (const PlanLayer& layer : executable.plan().layers) {
      steps.push_back(layer.name + " " + layer.backend +
                      (layer.fused_into.empty() ? "" : " of " + layer.fused_into));
    }
    return steps;
  }
  /// Whether the candidate is another backend than the guessed one. A layer that was fused has none.
  static bool differs(const Executable& guessed, const TuneCandidate& candidate) {
    const std::string& backend = guessed.plan().find(lenet5().nodes()[candidate.nodes[0]].name)->backend;
    return backend != "fused" && backend != candidate.backend;
  }
  /// A plan of the candidates after a measurement in which `slow` holds for some.
  template <typename Slow>
  static Plan tuned(const BuildOptions& build, const Slow& slow) {
    std::vector<TuneCandidate> candidates = tune_candidates(lenet5(), build);
    for (TuneCandidate& candidate : candidates) {
      if (candidate.status == row_status::kUnsupported || !is_own(candidate.backend)) continue;
      candidate.status = row_status::kPassed;
      candidate.reason.clear();
      const double ns = slow(candidate) ? 1000 : 100 * static_cast<double>(candidate.nodes.size());
      candidate.time = {20, ns, ns, ns, ns, ns};
    }
    choose_candidates(lenet5(), candidates);
    return tuned_plan(lenet5(), build, candidates);
  }
};

// The layered plan is there on every GPU, and its launches fit.
TEST_F(TunedGpus, TheLayeredPlanFitsEveryGpu) {
  for (int ordinal = kT4; ordinal <= kB200; ++ordinal) {
    SCOPED_TRACE(gpu_at(ordinal).name);
    for (const int64_t batch : {1, 64, 1000, 10000}) {
      BuildOptions build = layered(ordinal);
      build.batch = batch;
      Executable executable(lenet5(), build);
      launches_.clear();
      ASSERT_NO_THROW(executable.run());
      EXPECT_GE(launches_.size(), 5u) << "at least one for each layer with weights";
    }
  }
}

// In fp16 a tensor of many samples is stored as the layers that read it round it: few and tensor_core read and write
// fp16. No other mode and no pooling of its own has such tensors.
TEST_F(TunedGpus, TensorsBetweenLayersAreFp16WhereTheirReadersRoundThem) {
  const auto types = [&](int64_t batch, MathMode math, const char* backends) {
    BuildOptions build = layered(kH200);
    build.batch = batch;
    build.math = math;
    build.backends = BackendSpec::parse(backends);
    Executable executable(lenet5(), build);
    launches_.clear();
    EXPECT_NO_THROW(executable.run());
    std::string text;
    for (const Executable::Step& step : executable.steps())
      text += concat(text.empty() ? "" : " ", step.name, " ", step.output.type.bits());
    return text;
  };
  const int64_t many = kMinFp16Samples;
  EXPECT_EQ(types(many, MathMode::kFp16, "auto"), "conv1 16 conv2 16 fc1 16 fc2 16 fc3 32");
  EXPECT_EQ(types(many - 1, MathMode::kFp16, "auto"), "conv1 32 conv2 32 fc1 32 fc2 32 fc3 32");
  EXPECT_EQ(types(many, MathMode::kTf32, "auto"), "conv1 32 conv2 32 fc1 32 fc2 32 fc3 32");
  EXPECT_EQ(types(many, MathMode::kFp32, "auto"), "conv1 32 conv2 32 fc1 32 fc2 32 fc3 32");
  EXPECT_EQ(types(many, MathMode::kFp16, "pool1=direct"), "conv1 32 pool1 32 conv2 16 fc1 16 fc2 16 fc3 32")
      << "the pooling reads and writes fp32";
}

// What a plan guessed wrong: the backend that it took for a layer is slow on this GPU. tune takes another, the
// fastest, and the other layers keep theirs.
TEST_F(TunedGpus, TuneReplacesAWrongGuessByTheFastest) {
  for (int ordinal = kT4; ordinal <= kB200; ++ordinal) {
    const BuildOptions build = layered(ordinal);
    const Executable guessed(lenet5(), build);
    for (const char* wrong : {"conv1", "conv2", "fc1"}) {
      SCOPED_TRACE(concat(gpu_at(ordinal).name, " ", wrong));
      const std::string taken = guessed.plan().find(wrong)->backend;
      // The first other backend of the layer is the fastest; ties would go to the first in rank.
      std::optional<std::string> fastest;
      const auto slow = [&](const TuneCandidate& candidate) {
        const std::string& name = lenet5().nodes()[candidate.nodes[0]].name;
        if (name != wrong) return differs(guessed, candidate);
        if (candidate.backend != taken && !fastest) fastest = candidate.backend;
        return candidate.backend != fastest;
      };
      const Plan plan = tuned(build, slow);
      ASSERT_TRUE(fastest) << "there is a choice";
      EXPECT_EQ(plan.find(wrong)->backend, *fastest);
      for (const char* other : {"conv1", "conv2", "fc1", "fc2", "fc3"}) {
        if (std::string(other) != wrong) {
          EXPECT_EQ(plan.find(other)->backend, guessed.plan().find(other)->backend) << other;
        }
      }
      BuildOptions replay = build;
      replay.plan = &plan;
      Executable repaired(lenet5(), replay);
      EXPECT_EQ(repaired.plan().find(wrong)->backend, *fastest);
      EXPECT_NO_THROW(repaired.run());
    }
  }
}

// A guess that the measurement confirms stays.
TEST_F(TunedGpus, TuneKeepsARightGuess) {
  for (int ordinal = kT4; ordinal <= kB200; ++ordinal) {
    const BuildOptions build = layered(ordinal);
    const Executable guessed(lenet5(), build);
    const Plan plan =
        tuned(build, [&](const TuneCandidate& candidate) { return differs(guessed, candidate); });
    BuildOptions replay = build;
    replay.plan = &plan;
    EXPECT_EQ(steps_of(Executable(lenet5(), replay)), steps_of(guessed)) << gpu_at(ordinal).name;
  }
}

}  // namespace
}  // namespace lenslet
