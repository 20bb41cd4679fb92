// run() of every CPU backend of every layer, and of every whole-network backend, allocates nothing: no Buffer, nothing
// by operator new. The names come from the registries, so a new backend is tested automatically.
#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "tests/capture/planted_relu.h"
#include "tests/determinism/subjects.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

using determinism::Family;
using determinism::Prepared;
using determinism::Subject;

constexpr int64_t kBatch = 7;
constexpr size_t kMaxSubjects = 60;  // subjects of a backend, spread over all that it supports
constexpr int kRuns = 3;

/// Describes the allocations of runs; empty if there are none.
std::string broken_run(const Subject& subject, int64_t batch) {
  const std::unique_ptr<Prepared> prepared = subject.prepare(batch);
  prepared->run(determinism::batch_of(subject, batch));  // starts the threads
  const AllocationCounter counter;
  for (int i = 0; i < kRuns; ++i) prepared->enqueue();
  const long allocations = counter.allocations();
  if (allocations == 0) return {};
  return concat(subject.name, ", batch ", batch, ": ", kRuns, " runs allocate ", allocations, " times");
}

class Allocations : public testing::TestWithParam<Family> {};

TEST_P(Allocations, RunsMakeNone) {
  // A library, and the threads that it starts, may allocate. This test's row in tests.cmake also hides oneDNN's
  // products: matrix products here are the blocked loop's.
  if (GetParam().is_module) GTEST_SKIP() << "what a library allocates is its own";
  std::string why_not = "nothing here is small enough";
  const std::vector<Subject> all = determinism::subjects(GetParam(), Device::cpu(), why_not);
  if (all.empty()) GTEST_SKIP() << why_not;
  const size_t step = all.size() / kMaxSubjects + 1;
  for (size_t i = 0; i < all.size(); i += step) {
    EXPECT_EQ(broken_run(all[i], 1), "");
    EXPECT_EQ(broken_run(all[i], determinism::largest_supported(all[i], kBatch)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Allocations, testing::ValuesIn(determinism::families(DeviceKind::kCpu)),
                         ByName());

/// broken_run() for ReLU with that fault.
std::string broken_by(const Fault& fault) { return broken_run(relu_with(fault, Device::cpu()), 1); }

TEST(PlantedAllocation, WithoutAllocationsFindsNone) {
  EXPECT_EQ(broken_by([](const FaultyRun& run) { run.run_correctly(); }), "");
}

TEST(PlantedAllocation, OfABufferIsSeen) {
  EXPECT_EQ(broken_by([](const FaultyRun& run) {
              const Buffer taken(run.output.device, run.output.bytes());
              run.run_correctly();
            }),
            "planted, batch 1: 3 runs allocate 3 times");
}

TEST(PlantedAllocation, OfATensorIsSeen) {
  EXPECT_NE(broken_by([](const FaultyRun& run) {
              const Tensor taken(run.output.shape);
              run.run_correctly();
            }),
            "");
}

TEST(PlantedAllocation, OfAVectorOnceIsSeen) {
  std::vector<float> grown;
  EXPECT_EQ(broken_by([&grown](const FaultyRun& run) {
              if (run.number == 1) grown.resize(1000);  // allocations of the first run count as preparation
              run.run_correctly();
            }),
            "planted, batch 1: 3 runs allocate 1 times");
}

TEST(PlantedAllocation, OfAnAlignedObjectIsSeen) {
  struct alignas(64) Line {
    float values[16] = {};
  };
  std::unique_ptr<Line> line;  // outside, so that the compiler cannot remove the allocation
  EXPECT_EQ(broken_by([&line](const FaultyRun& run) {
              line = std::make_unique<Line>();
              run.run_correctly();
            }),
            "planted, batch 1: 3 runs allocate 3 times");
}

}  // namespace
}  // namespace lenslet
