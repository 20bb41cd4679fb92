// Verifies every rung of every ladder, like any other backend.
#include "layers/conv/gpu/ladder/conv_ladder.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "layers/conv/conv_problem_list.h"
#include "layers/conv/prepare_services.h"
#include "tests/conv/kept_verifiers.h"
#include "tests/conv/refusals.h"
#include "tests/support/gpu.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

std::vector<ConvRung> all_rungs() {
  std::vector<ConvRung> rungs;
  for (const std::string& algorithm : conv_ladder_algorithms()) {
    for (ConvRung& rung : conv_ladder(algorithm)) {
      if (!rung.is_product) rungs.push_back(std::move(rung));  // products are rows of the registry
    }
  }
  return rungs;
}

using RungAndList = std::tuple<ConvRung, std::string>;

/// Every rung on every list, list by list: the rungs share its references, and each shard of the program has some rungs
/// with every list.
std::vector<RungAndList> rungs_and_lists() {
  std::vector<RungAndList> all;
  for (const char* list : {"lenet", "rgb3x3", "tails", "regress", "deep3x3", "whole_steps"})
    for (const ConvRung& rung : all_rungs()) all.emplace_back(rung, list);
  return all;
}

class ConvLadder : public testing::TestWithParam<ConvRung> {};
class ConvLadderList : public testing::TestWithParam<RungAndList> {
 protected:
  static void TearDownTestSuite() { verifiers = {}; }
  static inline KeptVerifiers verifiers;
};

// Large problems are run without bias and ReLU, which the small ones cover.
TEST_P(ConvLadderList, AgreesWithTheReference) {
  LENSLET_SKIP_WITHOUT_GPU();
  const auto& [rung, list] = GetParam();
  const ConvBackend& backend = rung.getter();
  Stream stream(Device::cuda());
  int verified = 0;
  std::string reason;
  for (Conv2dProblem& problem : listed_problems(LENSLET_SOURCE_DIR "/layers/conv/problems", list)) {
    problem.layout = rung.layout;
    if (const Support support = backend.supports(problem, rung.math); !support) {
      reason = support.reason();
      EXPECT_EQ(lacks(reason), "") << problem.to_string();
      continue;
    }
    ConvVerifyOptions options;
    options.bias_and_relu = problem.flops() < 1e9;
    const VerifyResult result = verifiers.of(list, problem, options)->verify(backend, rung.math, stream);
    EXPECT_TRUE(result.passed) << result.reason << " [" << result.detail << "]";
    ++verified;
  }
  if (verified == 0) GTEST_SKIP() << "refused all, the last: " << reason;
}

// The table's figures of a rung come from the runtime.
TEST_P(ConvLadder, ListsItsLaunches) {
  LENSLET_SKIP_WITHOUT_GPU();
  Stream stream(Device::cuda());
  DevicePrepareServices services(stream);
  const ConvRung& rung = GetParam();
  const bool tensor_cores = rung.math == MathMode::kTf32;  // their tiles have 32 channels
  Conv2dProblem problem = Conv2dProblem::parse(tensor_cores ? "mb2ic32ih36oc4kh3ph1" : "mb2ic3ih36oc3kh3ph1");
  problem.layout = rung.layout;
  const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()), 1.0f);
  if (const Support support = rung.getter().supports(problem, rung.math); !support)
    GTEST_SKIP() << support.reason();
  const auto kernel =
      rung.getter().prepare({problem, rung.math, weights.data(), nullptr, false, SIZE_MAX, services, stream});
  const std::vector<LaunchResources> launches = kernel->launches();
  ASSERT_FALSE(launches.empty());
  for (const LaunchResources& launch : launches) {
    EXPECT_NE(launch.kernel, "");
    EXPECT_GT(launch.threads_per_block, 0);
    EXPECT_GT(launch.registers_per_thread, 0);
    EXPECT_GT(launch.blocks_per_multiprocessor, 0);
    EXPECT_GT(launch.occupancy, 0);
    EXPECT_LE(launch.occupancy, 1);
  }
}

// Rungs with K compiled in compute K filters, not the most that they can be compiled for.
TEST_P(ConvLadder, StatesTheFiltersOfAThread) {
  LENSLET_SKIP_WITHOUT_GPU();
  const std::string& name = GetParam().name;
  if (name.find("direct") == std::string::npos) GTEST_SKIP() << "its detail has no filters";
  if (name.find("07_") == std::string::npos && name.find("08_") == std::string::npos &&
      name.find("09_") == std::string::npos && name.find("10_") == std::string::npos &&
      name.find("11_") == std::string::npos && name.find("12_") == std::string::npos &&
      name.find("13_") == std::string::npos) {
    GTEST_SKIP() << "it computes any number of filters";
  }
  Stream stream(Device::cuda());
  DevicePrepareServices services(stream);
  for (const int filters : {1, 3}) {
    const Conv2dProblem problem = Conv2dProblem::parse(concat("mb2ic3ih36oc", filters, "kh3ph1"));
    const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()), 1.0f);
    const auto kernel = GetParam().getter().prepare(
        {problem, MathMode::kFp32, weights.data(), nullptr, false, SIZE_MAX, services, stream});
    EXPECT_NE(kernel->detail().find(concat("positions x ", filters, " filters per thread")),
              std::string::npos)
        << kernel->detail();
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConvLadder);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConvLadderList);
INSTANTIATE_TEST_SUITE_P(Rungs, ConvLadder, testing::ValuesIn(all_rungs()), ByName());
INSTANTIATE_TEST_SUITE_P(Rungs, ConvLadderList, testing::ValuesIn(rungs_and_lists()), ByName());

// Without a GPU too: a rung whose math or layout were another's would refuse all, and be skipped above.
TEST(ConvLadders, SupportShapesInTheirMathAndLayout) {
  for (const ConvRung& rung : all_rungs()) {
    Conv2dProblem problem =
        Conv2dProblem::parse(rung.algorithm == "direct" ? "mb1ic3ih64oc3kh3ph1" : "mb8ic32ih64oc128kh3");
    problem.layout = rung.layout;
    const Support support = rung.getter().supports(problem, rung.math);
    if (!support) {
      EXPECT_NE(support.reason().find("this GPU has"), std::string::npos) << support.reason();
    }
  }
}

// Needs no GPU: tests only the list.
TEST(ConvLadders, EndsWithTheProductAndNamesEachChange) {
  for (const std::string& algorithm : conv_ladder_algorithms()) {
    const std::vector<ConvRung> rungs = conv_ladder(algorithm);
    ASSERT_GT(rungs.size(), 1u);
    std::set<std::string> changes;
    for (size_t i = 0; i < rungs.size(); ++i) {
      EXPECT_EQ(rungs[i].is_product, i + 1 == rungs.size()) << rungs[i].name;
      EXPECT_TRUE(changes.insert(rungs[i].change).second) << "told twice: " << rungs[i].change;
      if (i > 0 && !rungs[i].is_product) {
        EXPECT_LT(rungs[i - 1].name, rungs[i].name);
      }
    }
    EXPECT_EQ(rungs.back().name, algorithm);
  }
  if (conv_ladder_algorithms().empty()) {  // without the GPU side there are none
    EXPECT_THROW(conv_ladder("no such ladder"), UnavailableError);
  } else {
    EXPECT_THROW(conv_ladder("no such ladder"), UsageError);
  }
}

}  // namespace
}  // namespace lenslet
