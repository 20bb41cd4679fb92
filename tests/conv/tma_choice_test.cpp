// The choice of a tile for the convolution that TMA feeds, for GPUs that are not there: every choice is one that the
// kernels can run, and the rules that the estimate rests on hold. The variants are samples; the product's own are in
// layers/conv/gpu/tensor_core/tma_variants.cuh, and conv_launches_test.cu launches each.
#include "layers/conv/gpu/tensor_core/tma_choice.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace lenslet {
namespace {

constexpr int kBarriers = 2 * kTmaBarrierBytes;  // of a stage

/// A variant that streams its filters, for fp16 tensors with rows of 128 bytes.
TmaVariant streaming(int positions, int filters, int stages, int blocks, bool splits) {
  TmaVariant variant{};
  variant.positions = positions;
  variant.filters = filters;
  variant.blocks = blocks;
  variant.threads = positions * 2 + 32;
  variant.shared_bytes = stages * ((positions + filters) * 128 + kBarriers);
  variant.row_bytes = 128;
  variant.output_bytes = 2;
  variant.splits = splits;
  variant.us = {0.1, 0.5, 0.5, 0.2, 1.0};
  return variant;
}
/// One that keeps its filters.
TmaVariant keeping(int filters, int runs) {
  TmaVariant variant = streaming(64, filters, 0, 1, false);
  variant.threads = 288;
  variant.shared_bytes = 20 * 1024;
  variant.stores_pieces = true;
  variant.kept_runs = runs;
  variant.kept_us = {0.1, 0.5, 0.5, 0.2, 1.0};
  return variant;
}

Conv2dProblem fp16(const std::string& text) {
  Conv2dProblem problem = Conv2dProblem::parse(text);
  problem.layout = TensorLayout::kNhwc;
  problem.type = ElementType::kFp16;
  return problem;
}

TmaChoice choose(const Conv2dProblem& problem, const TmaVariant& variant, int multiprocessors = 132) {
  return tma_choose(problem, MathMode::kFp16, multiprocessors, {&variant});
}

const char* const kProblems[] = {"mb1ic16ih7oc32oh7kh3ph1",      "mb1ic64ih56oc64oh56kh1",
                                 "mb8ic512ih28oc256oh28kh1",     "mb64ic256ih28oc256oh14kh3sh2ph1",
                                 "mb64ic1024ih14oc512oh14kh1",   "mb1ic2048ih7oc512oh7kh1",
                                 "mb3ic40ih33iw9oc72kh3kw5pw2",  "mb2ic72ih20oc136kh5dh1dw2ph4pw6",
                                 "mb64ic64ih56oc1000oh56kh3ph1", "mb1ic8ih3iw200oc32kh1kw2dw127"};

TEST(TmaChoice, LaunchesWhatTheKernelsCanRun) {
  const std::vector<TmaVariant> variants = {streaming(128, 128, 6, 1, true),
                                            streaming(64, 64, 12, 1, true),
                                            streaming(128, 128, 3, 2, false),
                                            keeping(256, 1),
                                            keeping(128, 2),
                                            keeping(64, 2),
                                            keeping(64, 1)};
  for (const char* text : kProblems) {
    for (const int multiprocessors : {1, 3, 66, 114, 132, 144}) {
      const Conv2dProblem problem = fp16(text);
      for (const TmaVariant& variant : variants) {
        SCOPED_TRACE(text + (" " + std::to_string(multiprocessors)) + " " +
                     std::to_string(variant.positions) + " " + std::to_string(variant.filters));
        const TmaChoice choice = choose(problem, variant, multiprocessors);
        if (choice.variant < 0) {
          EXPECT_TRUE(variant.keeps_filters()) << "a variant that streams its filters supports every problem";
          continue;
        }
        const int64_t tiles = tma_tiles(problem, variant, choice.columns);
        EXPECT_LE(choice.shared_bytes, GpuLimits::kHopperSharedBytes);
        EXPECT_GE(choice.clusters, 1);
        EXPECT_LE(choice.clusters, tiles);
        EXPECT_LE(choice.clusters * choice.parts,
                  std::max<int64_t>(multiprocessors * variant.blocks, choice.parts > 1 ? 0 : 1));
        EXPECT_LE(choice.parts, std::min(8, tma_products(problem, variant, MathMode::kFp16)));
        EXPECT_TRUE(choice.parts == 1 || variant.splits);
        if (!variant.keeps_filters()) continue;
        const TmaKeptSizes& kept = choice.kept;
        EXPECT_EQ(choice.clusters % ceil_div(problem.k, variant.filters),
                  0);  // a block keeps its tile of filters
        EXPECT_GE(kept.stages, 3);
        EXPECT_EQ(kept.steps, problem.r * kept.row_steps);
        EXPECT_EQ(kept.row_steps * variant.kept_runs, tma_runs(problem, variant, MathMode::kFp16));
        EXPECT_EQ(kept.box_bytes % 1024, 0);
        EXPECT_EQ(int64_t{kept.steps} * kept.step_filter_bytes,
                  int64_t{tma_products(problem, variant, MathMode::kFp16)} * variant.filters * 128);
      }
    }
  }
}

TEST(TmaChoice, SplitsOnlyWhereAllClustersRunAtOnce) {
  const TmaVariant variant = streaming(64, 64, 12, 1, true);
  // 8 tiles of 72 products: the more parts the better.
  EXPECT_EQ(choose(fp16("mb1ic512ih7oc512oh7kh3ph1"), variant).parts, 8);
  // 16 tiles: clusters of 8 would need 128 of 132 multiprocessors, more than the parts of a GPU hold in whole clusters.
  EXPECT_EQ(choose(fp16("mb1ic256ih14oc256oh14kh3ph1"), variant).parts, 4);
  // 98 tiles: no multiprocessor is left for another part.
  EXPECT_EQ(choose(fp16("mb8ic256ih14oc256oh14kh3ph1"), variant).parts, 1);
  // Two products: no third part.
  EXPECT_LE(choose(fp16("mb1ic128ih7oc64oh7kh1"), variant).parts, 2);
}

TEST(TmaChoice, CountsTwoTilesWhereLaunchesCrowd) {
  // 98 tiles of 128 x 128 for 132 multiprocessors: with room for two blocks on each, some would have two tiles.
  const TmaVariant alone = streaming(128, 128, 6, 1, false), crowded = streaming(128, 128, 3, 2, false);
  const Conv2dProblem problem = fp16("mb8ic512ih28oc256oh28kh1");
  EXPECT_LT(choose(problem, alone).time_us, choose(problem, crowded).time_us);
  const Conv2dProblem few = fp16("mb1ic512ih28oc256oh28kh1"), many = fp16("mb64ic512ih28oc256oh28kh1");
  EXPECT_EQ(choose(few, alone).time_us, choose(few, crowded).time_us);
  EXPECT_EQ(choose(many, alone).time_us, choose(many, crowded).time_us);
}

TEST(TmaChoice, LeavesOutWhatAVariantCannotStoreOrCopy) {
  const TmaVariant kept = keeping(64, 1);
  EXPECT_EQ(choose(fp16("mb1ic64ih8oc64kh3"), kept).variant, 0);
  EXPECT_EQ(choose(fp16("mb1ic64ih8oc60kh3"), kept).variant, -1);  // 120 bytes are no whole pieces
  EXPECT_EQ(choose(fp16("mb1ic64ih9oc64kh3sh2"), kept).variant,
            -1);  // two columns from a position to the next
  EXPECT_EQ(choose(fp16("mb1ic64ih9oc64kh1sh2"), kept).variant, 0);  // one column of taps
  EXPECT_EQ(choose(fp16("mb1ic1472ih8oc64kh1"), kept).variant, -1);  // two stages beside the filters
  EXPECT_EQ(choose(fp16("mb1ic2048ih8oc64kh1"), kept).variant, -1);  // 256 KiB of filters
  EXPECT_EQ(choose(fp16("mb1ic64ih8oc9000kh1"), kept).variant,
            -1);  // more tiles of filters than multiprocessors
  EXPECT_EQ(choose(fp16("mb1ic64ih8oc64kh1pw128"), kept).variant, -1);  // beyond the corners of TMA's box
}

// Among kernels that differ in the runs of a step alone, the first is taken whose runs divide those of all channels and
// leave room for three stages.
TEST(TmaChoice, TakesMoreRunsAStepWhereTheyFit) {
  const TmaVariant two = keeping(64, 2), one = keeping(64, 1);
  const auto chosen = [&](const std::string& text) {
    return tma_choose(fp16(text), MathMode::kFp16, 132, {&two, &one}).variant;
  };
  EXPECT_EQ(chosen("mb1ic128ih8oc64kh3"), 0);
  EXPECT_EQ(chosen("mb1ic64ih8oc64kh3"), 1);    // one run
  EXPECT_EQ(chosen("mb1ic192ih8oc64kh1"), 1);   // three
  EXPECT_EQ(chosen("mb1ic1280ih8oc64kh1"), 1);  // room for two stages of two runs
}

}  // namespace
}  // namespace lenslet
