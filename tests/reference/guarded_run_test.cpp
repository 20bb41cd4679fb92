// The guard around a computation detects faults other than wrong values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/reference/guarded_run.h"

namespace lenslet::reference {
namespace {

constexpr size_t kValues = 5;
const std::vector<float> kInput = {1, 2, 3, 4, 5};

GuardedOperands operands(int64_t shift) {
  GuardedOperands operands;
  operands.inputs = {{kInput.data(), kValues * sizeof(float)}};
  operands.output_bytes = kValues * sizeof(float);
  operands.workspace_bytes = sizeof(float);
  operands.shift = shift;
  return operands;
}

/// Runs an operator that copies the input and then does `more`.
GuardedRun copied(const GuardedOperands& operands, const std::function<void(const GuardedPlaces&)>& more) {
  Stream stream(Device::cpu());
  return run_guarded(stream, operands, [&](const GuardedPlaces& places) {
    std::copy_n(places.inputs[0], kValues, places.output);
    more(places);
  });
}

TEST(GuardedRun, GivesTheOutputOfARightComputation) {
  for (const int64_t shift : {0, 1, 3}) {
    const GuardedRun run = copied(operands(shift), [](const GuardedPlaces&) {});
    EXPECT_EQ(run.fault, "");
    EXPECT_EQ(run.output, kInput);
  }
}

TEST(GuardedRun, SeesWritesOutsideTheOutput) {
  const auto fault_of = [](int64_t shift, const std::function<void(const GuardedPlaces&)>& more) {
    return copied(operands(shift), more).fault;
  };
  const auto write_before = [](const GuardedPlaces& places) { places.output[-1] = 7; };
  EXPECT_EQ(fault_of(0, write_before).find("wrote past the end of block 0"), 0u);
  EXPECT_EQ(fault_of(1, write_before), "wrote before its output");
  const auto write_behind = [](const GuardedPlaces& places) { places.output[kValues] = 7; };
  EXPECT_EQ(fault_of(2, write_behind).find("wrote past the end of block 1"), 0u);
  const auto outgrow = [](const GuardedPlaces& places) { static_cast<float*>(places.workspace)[1] = 7; };
  EXPECT_EQ(fault_of(0, outgrow).find("wrote past the end of block 2"), 0u);
  const auto change_input = [](const GuardedPlaces& places) { const_cast<float*>(places.inputs[0])[4] = 7; };
  EXPECT_EQ(fault_of(0, change_input), "changed its input");
  const auto write_before_input = [](const GuardedPlaces& places) {
    const_cast<float*>(places.inputs[0])[-1] = 7;
  };
  EXPECT_EQ(fault_of(3, write_before_input), "changed its input");
}

TEST(GuardedRun, SeesASecondRunThatDiffers) {
  int runs = 0;
  const auto count = [&runs](const GuardedPlaces& places) { places.output[3] = static_cast<float>(++runs); };
  EXPECT_EQ(copied(operands(0), count).fault, "two runs differ at 3: 1 and 2");
  const auto read_workspace = [](const GuardedPlaces& places) {
    places.output[0] = std::isnan(*static_cast<float*>(places.workspace)) ? 1.0f : 2.0f;
  };
  EXPECT_EQ(copied(operands(0), read_workspace).fault, "two runs differ at 0: 1 and 2");
}

TEST(GuardedRun, KeepsWhatTheOutputHeldBefore) {
  const std::vector<float> before(kValues, 9);
  GuardedOperands kept = operands(2);
  kept.output_before = before.data();
  Stream stream(Device::cpu());
  const GuardedRun run =
      run_guarded(stream, kept, [](const GuardedPlaces& places) { places.output[1] += places.inputs[0][0]; });
  EXPECT_EQ(run.fault, "");
  EXPECT_EQ(run.output, (std::vector<float>{9, 10, 9, 9, 9}));
}

}  // namespace
}  // namespace lenslet::reference
