// The exit codes and messages of main().
#include "apps/common/program/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>

#include "framework/base/error.h"

namespace lenslet {
namespace {

// The exit code and message of every exception that can end a command.
template <typename E>
int end_with(const E& error) {
  char name[] = "program";
  char* argv[] = {name, nullptr};
  return program_main("program", "use less", 1, argv,
                      [&](int, const char* const*) -> std::function<ExitCode()> {
                        return [&]() -> ExitCode { throw error; };
                      });
}

TEST(Program, EndsWithTheCodeOfWhatWentWrong) {
  const auto exits = [](int code) { return testing::ExitedWithCode(code); };
  EXPECT_EXIT(std::exit(end_with(CheckError("it differs"))), exits(1), "program: error: it differs");
  EXPECT_EXIT(std::exit(end_with(UsageError("no such flag"))), exits(2), "program: error: no such flag");
  EXPECT_EXIT(std::exit(end_with(DataError("cut off"))), exits(3), "program: error: cut off");
  EXPECT_EXIT(std::exit(end_with(UnavailableError("no GPU"))), exits(4), "program: error: no GPU");
  EXPECT_EXIT(std::exit(end_with(DeviceError("fault"))), exits(5), "program: error: fault");
  EXPECT_EXIT(std::exit(end_with(std::runtime_error("of a library"))), exits(5),
              "program: error: of a library");
  EXPECT_EXIT(std::exit(end_with(MemoryError("too large"))), exits(6), "program: error: too large");
  EXPECT_EXIT(std::exit(end_with(std::bad_alloc())), exits(6), "program: error: out of memory; use less");
  EXPECT_EXIT(std::exit(end_with(InterruptedError("stop"))), exits(130), "program: interrupted");
}

}  // namespace
}  // namespace lenslet
