// One table of bad inputs for both programs, kept in a file a subject: each row runs a program as a user's shell would
// and says with which code and words it has to end.
#pragma once

#include "tests/cli/fixture_files.h"

namespace lenslet::test {

struct BadInput {
  const char* name;
  /// As run_line() takes it.
  const char* command;
  int exit_code;
  /// What the one line on standard error has to say, separated by '|'; for kOk, what either stream has to.
  const char* fragments;
  /// NAME=value for the environment; "stdin:closed", "stdin:terminal", "stdout:full", "stdout:closed"; "rights:none"
  /// for a root that minds the modes of files. Separated by blanks.
  const char* circumstances = "";
};

std::ostream& operator<<(std::ostream& out, const BadInput& bad);

/// Runs a row. Beside code and words it demands: no signal; one line on standard error, which begins with the program's
/// name; no control character; nothing temporary left; and no more memory and time than a refusal may take. A row that
/// needs {dir}/full or {dir}/read_only is skipped, with the reason, where no disk can be mounted.
void expect_row(const BadInput& bad);

class BadInputTest : public testing::TestWithParam<BadInput> {};

std::string name_of(const testing::TestParamInfo<BadInput>& info);

}  // namespace lenslet::test
