// Without its modules the program still runs: requests that need one are refused with its name, all others work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "framework/gpu_side.h"
#include "framework/graph/module.h"
#include "layers/conv/conv_problem_list.h"
#include "layers/conv/conv_registry.h"
#include "layers/gemm/gemm_backend.h"
#include "layers/linear/linear_layer.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

// An empty folder, for the whole process: modules are searched once.
class Modules : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char folder[] = "/tmp/lenslet-modules-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    ASSERT_EQ(setenv("LENSLET_MODULE_PATH", folder_.c_str(), 1), 0);
  }
  static void TearDownTestSuite() { rmdir(folder_.c_str()); }

  static std::string folder_;
};

std::string Modules::folder_;

TEST_F(Modules, AMissingModuleIsNamedWithItsFolder) {
  expect_error<UnavailableError>([] { Module::open("gemm_gpu_cublas"); }, "lenslet_gemm_gpu_cublas.so",
                                 folder_);
}

// Each of our own backends supports a problem of these lists in one math mode: some only fp32, some only tensor cores,
// some only one channel per group.
Support supports_any(const ConvBackendEntry& entry) {
  Support last = Support::no("");
  for (const char* const list : {"lenet", "rgb3x3", "regress", "pointwise", "depthwise"}) {
    for (const Conv2dProblem& problem : listed_problems(LENSLET_SOURCE_DIR "/layers/conv/problems", list)) {
      for (MathMode math : kMathModes) {
        last = entry.supports(problem, math);
        if (last) return last;
      }
    }
  }
  return last;
}

TEST_F(Modules, ConvolutionBackendsInModulesAreRefusedAndTheRestServe) {
  for (DeviceKind device : kDeviceKinds) {
    for (const ConvBackendEntry& entry : conv_backend_entries(device)) {
      const Support support = supports_any(entry);
      if (entry.kind() == ConvBackendEntry::Kind::kBuiltIn) {
        // Except for features that the GPU of this machine lacks.
        EXPECT_TRUE(support || support.reason().find("compute capability") != std::string::npos)
            << entry.name() << ": " << support.reason();
      } else {
        EXPECT_FALSE(support) << entry.name();
        EXPECT_NE(support.reason(), "") << entry.name();
      }
    }
  }
}

TEST_F(Modules, LinearServesWithoutALibrary) {
  const LinearLayer layer(Tensor({3, 4}), Tensor());
  OperatorRequest request = request_for(layer, {{2, 4}}, Device::cpu(), MathMode::kFp32);
  EXPECT_EQ(layer.preferred(request), "direct");
  EXPECT_TRUE(layer.supports("gemm", request));  // the blocked loop
#ifdef LENSLET_HAS_CUDA
  request.device = Device::cuda();
  EXPECT_EQ(layer.preferred(request), "warp_reduce");
  const Support support = layer.supports("cublas", request);
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason().find("gemm_gpu_cublas"), std::string::npos) << support.reason();
#endif
}

}  // namespace
}  // namespace lenslet
