// An attempt: its error becomes the status of its row.
#include "apps/common/results/attempt.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "apps/common/results/result_file.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

TEST(Attempt, TurnsErrorsIntoTheStatusOfARow) {
  const auto row_of = [](const auto& error) {
    ResultRow row;
    EXPECT_FALSE(attempt(row, [&] { throw error; }));
    return row.status + ", " + row.reason;
  };
  EXPECT_EQ(row_of(UnavailableError("no library")), "UNSUPPORTED, no library");
  EXPECT_EQ(row_of(MemoryError("too large")), "SKIPPED, too large");
  EXPECT_EQ(row_of(std::bad_alloc()), "SKIPPED, out of host memory; a smaller batch or problem needs less");
  EXPECT_EQ(row_of(DeviceError("launch failed")), "ERROR, launch failed");
  EXPECT_EQ(row_of(InterruptedError("stop")), std::string("SKIPPED, ") + why_unmeasured());
  ResultRow row;
  EXPECT_TRUE(attempt(row, [&] { row.reason = "ran"; }));
  EXPECT_EQ(row.status + ", " + row.reason, "PASSED, ran");
  for (const ExitCode code : {ExitCode::kUsage, ExitCode::kData, ExitCode::kOutput, ExitCode::kCheckFailed})
    EXPECT_THROW(attempt([&] { throw Error(code, "of the whole run"); }), Error) << static_cast<int>(code);
}

TEST(Attempt, LetsNoErrorOfARunEndTheOthers) {
  Stream stream(Device::cpu());
  for (const ExitCode code : {ExitCode::kDevice, ExitCode::kMemory, ExitCode::kData}) {
    const auto refusal = attempt_run("one", stream, [&] { throw Error(code, "it failed"); });
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->status + ", " + refusal->reason, "ERROR, it failed");
    EXPECT_EQ(refusal->code, code);
  }
  const auto refusal = attempt_run("one", stream, [] { throw std::bad_alloc(); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status + ", " + refusal->reason,
            "SKIPPED, out of host memory; a smaller batch or problem needs less");
  EXPECT_EQ(refusal->code, ExitCode::kMemory);
  EXPECT_FALSE(attempt_run("one", stream, [] {}));
}

}  // namespace
}  // namespace lenslet
