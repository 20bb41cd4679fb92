// The exit codes and messages of main().
#include "apps/common/program/program.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>

#include "framework/base/error.h"
#include "layers/reference/fill.h"

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

// The data and the reference of a large problem take minutes, in which no caller looks for a signal.
TEST(Program, ASignalEndsTheReference) {
  char name[] = "program";
  char* argv[] = {name, nullptr};
  const auto run = [&] {
    return program_main("program", "use less", 1, argv,
                        [](int, const char* const*) -> std::function<ExitCode()> {
                          return [] {
                            std::raise(SIGTERM);
                            reference::uniform_values(1000, 1);
                            return ExitCode::kOk;
                          };
                        });
  };
  EXPECT_EXIT(std::exit(run()), testing::ExitedWithCode(130), "program: interrupted by SIGTERM");
}

}  // namespace
}  // namespace lenslet
