// The pointers of a cuDNN plan change from run to run without an allocation. Needs cuDNN, but no GPU.
#include <gtest/gtest.h>

#include "layers/conv/gpu/cudnn/plans.h"
#include "tests/support/allocation_counter.h"

namespace lenslet {
namespace {

TEST(CudnnPack, ChangesItsPointersWithoutAnAllocation) {
  alignas(16) float tensors[4] = {};  // only their addresses are used
  CudnnPack pack;
  const AllocationCounter counter;
  for (float& x : tensors) {
    for (float& y : tensors) {
      ASSERT_NE(pack.at(&x, &tensors[0], &y, nullptr), nullptr);
      ASSERT_NE(pack.at(&x, &tensors[0], &y, &tensors[1]), nullptr);
    }
  }
  EXPECT_EQ(counter.allocations(), 0);
}

}  // namespace
}  // namespace lenslet
