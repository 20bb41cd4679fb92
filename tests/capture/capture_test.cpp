// run() of every GPU backend of every layer, and of every whole-network backend, only enqueues: it can be captured into
// a CUDA graph, which neither an allocation nor a wait can, and many runs take no memory. The names come from the
// registries, so a new backend is tested automatically.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "framework/base/error.h"
#include "framework/device/device_memory.h"
#include "tests/capture/planted_relu.h"
#include "tests/determinism/subjects.h"
#include "tests/support/gpu.h"
#include "tests/support/memory_growth.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

using determinism::Bytes;
using determinism::Family;
using determinism::Prepared;
using determinism::Subject;

constexpr int64_t kBatch = 7;
constexpr size_t kMaxSubjects = 200;  // subjects of a backend, spread over all that it supports
constexpr int kRuns = 50;

/// Device memory in use: by all programs together, and by this program's Buffers.
struct MemoryInUse {
  int64_t device = -static_cast<int64_t>(free_memory_bytes(Device::cuda()));
  int64_t buffers = static_cast<int64_t>(device_memory_taken(Device::cuda()));
};

/// Bytes that runs allocate and keep every time.
int64_t kept_bytes(Prepared& prepared) {
  int64_t min_growth = INT64_MAX;
  for (int go = 0; go < test::kGrowthRounds && min_growth > 0; ++go) {
    const MemoryInUse before;
    for (int i = 0; i < kRuns; ++i) prepared.enqueue();
    prepared.stream().synchronise();
    const MemoryInUse after;
    if (after.buffers > before.buffers) return after.buffers - before.buffers;
    min_growth = std::min(min_growth, after.device - before.device);
  }
  return min_growth > test::kMaxGrowth ? min_growth : 0;
}

/// Describes what run() does besides enqueuing; empty if nothing.
std::string broken_run(const Subject& subject, int64_t batch) {
  const Bytes values = determinism::batch_of(subject, batch);
  const std::unique_ptr<Prepared> prepared = subject.prepare(batch);
  const Bytes expected = prepared->run(values);  // libraries initialise themselves on their first call
  if (const int64_t kept = kept_bytes(*prepared); kept > 0) {
    return concat(subject.name, ": ", kRuns, " runs keep ", kept, " bytes of device memory");
  }
  CapturedGraph graph;
  try {
    graph = CapturedGraph::capture(prepared->stream(), [&] { prepared->enqueue(); });
  } catch (const Error& error) {
    return concat(subject.name, ": run() allocates or waits, it cannot be captured: ", error.what());
  }
  prepared->load(values);
  graph.launch(prepared->stream());
  if (prepared->result() != expected) return subject.name + ": captured, it computes other bits";
  return {};
}

class Capture : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override { LENSLET_SKIP_WITHOUT_GPU(); }
};

TEST_P(Capture, RunsOnlyEnqueue) {
  std::string why_not = "nothing here is small enough";
  int captured = 0;
  const std::vector<Subject> all = determinism::subjects(GetParam(), Device::cuda(), why_not);
  const size_t step = all.size() / kMaxSubjects + 1;
  for (size_t i = 0; i < all.size(); i += step) {
    try {
      EXPECT_EQ(broken_run(all[i], determinism::largest_supported(all[i], kBatch)), "");
      ++captured;
    } catch (const UnavailableError& error) {  // an unavailable library, or one without this operation
      why_not = error.what();
    }
  }
  RecordProperty("captured", captured);
  if (captured == 0) GTEST_SKIP() << why_not;
}

INSTANTIATE_TEST_SUITE_P(Backends, Capture, testing::ValuesIn(determinism::families(DeviceKind::kCuda)),
                         ByName());

/// broken_run() for ReLU with that fault.
std::string broken_by(const Fault& fault) { return broken_run(relu_with(fault, Device::cuda()), 1); }

void expect_caught(const Fault& fault, const std::string& words) {
  const std::string broken = broken_by(fault);
  EXPECT_NE(broken.find("planted: " + words), std::string::npos) << "found: '" << broken << "'";
}

class PlantedRun : public testing::Test {
 protected:
  void SetUp() override { LENSLET_SKIP_WITHOUT_GPU(); }
};

TEST_F(PlantedRun, ThatOnlyEnqueuesPasses) {
  EXPECT_EQ(broken_by([](const FaultyRun& run) { run.run_correctly(); }), "");
}

TEST_F(PlantedRun, ThatWaitsIsSeen) {
  expect_caught(
      [](const FaultyRun& run) {
        run.run_correctly();
        run.context.stream.synchronise();
      },
      "run() allocates or waits");
}

TEST_F(PlantedRun, ThatAllocatesIsSeen) {
  expect_caught(
      [](const FaultyRun& run) {
        const Buffer taken(run.output.device, run.output.bytes());
        run.run_correctly();
      },
      "run() allocates or waits");
}

TEST_F(PlantedRun, ThatKeepsMemoryIsSeen) {
  std::vector<Buffer> kept;
  expect_caught(
      [&kept](const FaultyRun& run) {
        kept.emplace_back(run.output.device, run.output.bytes());
        run.run_correctly();
      },
      "50 runs keep");
}

TEST_F(PlantedRun, ThatWorksOnTheHostIsSeen) {
  expect_caught(
      [](const FaultyRun& run) {
        if (run.number == 0) run.run_correctly();  // and keeps the output unchanged afterwards
      },
      "captured, it computes other bits");
}

}  // namespace
}  // namespace lenslet
