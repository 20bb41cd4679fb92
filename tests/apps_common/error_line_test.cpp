// The line that reports an error, also without memory.
#include "apps/common/output/error_line.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>

#include "apps/common/program/program.h"
#include "framework/base/text.h"
#include "tests/support/allocation_counter.h"

namespace lenslet {
namespace {

std::string line_of(std::initializer_list<std::string_view> what) {
  testing::internal::CaptureStderr();
  write_error_line("program", what);
  return testing::internal::GetCapturedStderr();
}

std::string line_without_memory_of(std::initializer_list<std::string_view> what) {
  testing::internal::CaptureStderr();
  {
    const NoMemoryElsewhere now;
    std::thread([&] { write_error_line("program", what); }).join();
  }
  return testing::internal::GetCapturedStderr();
}

TEST(ErrorLine, IsOnePrintableLine) {
  EXPECT_EQ(line_of({}), "program: error: \n");
  EXPECT_EQ(line_of({"it ", "fell\n", "d\xc3\xa9, \x1b[2J"}),
            "program: error: it fell\\nd\xc3\xa9, \\x1b[2J\n");
  const std::string cut = line_of({std::string(kMaxLineBytes, 'a'), "b"});
  EXPECT_NE(cut.find("a…a"), std::string::npos) << cut;
  EXPECT_EQ(cut.substr(cut.size() - 3), "ab\n");
}

TEST(ErrorLine, IsWholeWithoutMemory) {
  EXPECT_EQ(line_without_memory_of({}), "program: error: \n");
  EXPECT_EQ(line_without_memory_of({"a connection was dropped: ", "no memory"}),
            "program: error: a connection was dropped: no memory\n");
  EXPECT_EQ(line_without_memory_of({"it fell\n", "d\xc3\xa9, \x1b[2J \x7f~"}),
            "program: error: it fell?d??, ?[2J ?~\n");
  const std::string start = "program: error: ", all(kMaxLineBytes, 'a');
  EXPECT_EQ(line_without_memory_of({all, "b"}), start + all.substr(start.size()) + "\n");
}

// Nothing of the program has memory, from its first step.
TEST(ErrorLine, EndsAProgramWithoutMemory) {
  const std::string name = "program", hint = "use less";
  const auto run = [&] {
    int code = 0;
    {
      const NoMemoryElsewhere now;
      std::thread([&] {
        code = program_main(name, hint, 0, nullptr, [](int, const char* const*) -> std::function<ExitCode()> {
          return [] { return ExitCode::kOk; };
        });
      }).join();
    }
    std::_Exit(code);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(6), "^program: error: out of memory; use less\n$");
}

}  // namespace
}  // namespace lenslet
