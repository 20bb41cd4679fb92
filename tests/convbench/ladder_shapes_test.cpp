// The built-in shapes of the ladders equal those of the lists in the tree.
#include <gtest/gtest.h>

#include "apps/convbench/bench/ladder_shapes.h"
#include "framework/base/error.h"
#include "layers/conv/conv_problem_list.h"
#include "layers/conv/gpu/ladder/conv_ladder.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

TEST(LadderShapes, OfMatrixProductsAreTheListDeep3x3) {
  std::vector<std::string> listed;
  for (const Conv2dProblem& problem : listed_problems(LENSLET_SOURCE_DIR "/layers/conv/problems", "deep3x3"))
    listed.push_back(problem.to_string());
  ASSERT_FALSE(listed.empty());
  for (const char* algorithm : {"implicit_gemm", "tensor_core"}) {
    std::vector<std::string> here;
    for (const char* text : ladder_shapes_of(algorithm).problems)
      here.push_back(Conv2dProblem::parse(text).to_string());
    EXPECT_EQ(here, listed) << algorithm;
  }
}

// By name, and for the ladders of this build: none without the GPU side.
TEST(LadderShapes, AreThereForEveryLadder) {
  std::vector<std::string> algorithms = conv_ladder_algorithms();
  for (const char* known : {"implicit_gemm", "direct", "tensor_core"}) algorithms.push_back(known);
  for (const std::string& algorithm : algorithms) {
    const LadderShapes& shapes = ladder_shapes_of(algorithm);
    EXPECT_FALSE(shapes.problems.empty()) << algorithm;
    for (const char* text : shapes.problems) EXPECT_NO_THROW(Conv2dProblem::parse(text)) << text;
  }
  expect_error<UsageError>([] { ladder_shapes_of("nonesuch"); },
                           "there are: implicit_gemm, direct, tensor_core");
}

}  // namespace
}  // namespace lenslet
