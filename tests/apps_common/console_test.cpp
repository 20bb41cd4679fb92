// What a command prints: wrapped to the width, without control characters.
#include "apps/common/output/output.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lenslet {
namespace {

TEST(Console, WrapsItsLines) {
  ::setenv("COLUMNS", "40", 1);
  Console console({});
  ::unsetenv("COLUMNS");
  testing::internal::CaptureStdout();
  console.line("\nbackends:   conv1 direct, conv2 gemm, fc1 gemm, fc2 gemm", 12);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "\nbackends:   conv1 direct, conv2 gemm,\n            fc1 gemm, fc2 gemm\n");
  testing::internal::CaptureStdout();
  console.line();
  console.line("short");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "\nshort\n");
}

TEST(Console, PrintsNothingThatSteersATerminal) {
  Console console({});
  testing::internal::CaptureStdout();
  console.print("two\nlines, \x1b[2J and \xc2\x9b\n");
  console.line("\xe2\x80\xae");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "two\nlines, \\x1b[2J and \\xc2\\x9b\n\\xe2\\x80\\xae\n");
}

TEST(Console, PrintsNoTableWithoutRows) {
  TableOptions options;
  options.legend = true;
  Console console({}, {}, options);
  Table table;
  table.column("backend", Table::Align::kLeft).column("us");
  testing::internal::CaptureStdout();
  console.print(table);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  table.row({"direct", "1.5"});
  testing::internal::CaptureStdout();
  console.print(table);
  EXPECT_EQ(testing::internal::GetCapturedStdout().find("backend   us\n"), 0u);
}

}  // namespace
}  // namespace lenslet
