// Every rung of every ladder before the fp64 judge, like any other backend.
#include "layers/conv/gpu/ladder/conv_ladder.h"

#include <gtest/gtest.h>

#include <set>

#include "layers/conv/prepare_services.h"
#include "layers/reference/conv_verify.h"
#include "tests/support/gpu.h"

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

class ConvLadder : public testing::TestWithParam<ConvRung> {};

// The list of odd shapes in full, the studies' own shapes without bias and ReLU.
TEST_P(ConvLadder, AgreesWithTheReference) {
  LENSLET_SKIP_WITHOUT_GPU();
  const ConvBackend& backend = GetParam().getter();
  Stream stream(Device::cuda());
  int verified = 0;
  for (const char* list : {"lenet", "rgb3x3", "tails", "regress", "deep3x3"}) {
    for (const Conv2dProblem& problem :
         read_problem_list(concat(LENSLET_SOURCE_DIR, "/layers/conv/problems/", list, ".txt"))) {
      const Support support = backend.supports(problem, MathMode::kFp32);
      if (!support) {
        EXPECT_NE(support.reason(), "") << problem.to_string();
        continue;
      }
      ConvVerifyOptions options;
      options.bias_and_relu = problem.flops() < 1e9;
      const ConvVerifyResult result = ConvVerifier(problem, options).verify(backend, MathMode::kFp32, stream);
      EXPECT_TRUE(result.passed) << result.reason << " [" << result.detail << "]";
      ++verified;
    }
  }
  EXPECT_GT(verified, 0);
}

// What the table shows of a rung comes from the runtime.
TEST_P(ConvLadder, TellsItsLaunches) {
  LENSLET_SKIP_WITHOUT_GPU();
  Stream stream(Device::cuda());
  DevicePrepareServices services(stream);
  const Conv2dProblem problem = Conv2dProblem::parse("mb2ic3ih33oc3kh3ph1");
  const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()), 1.0f);
  const auto kernel = GetParam().getter().prepare(
      {problem, MathMode::kFp32, weights.data(), nullptr, false, SIZE_MAX, services, stream});
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

std::string test_name(const testing::TestParamInfo<ConvRung>& param) {
  std::string name = param.param.name;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConvLadder);
INSTANTIATE_TEST_SUITE_P(Rungs, ConvLadder, testing::ValuesIn(all_rungs()), test_name);

// Needs no GPU: the list itself.
TEST(ConvLadderList, EndsWithTheProductAndTellsEachChange) {
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
  EXPECT_THROW(conv_ladder("no such ladder"), UsageError);
}

}  // namespace
}  // namespace lenslet
