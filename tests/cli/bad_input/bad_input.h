// A table of invalid inputs for both programs, one file per subject: each row runs a program as a shell would, and
// expects an exit code and words.
#pragma once

#include "tests/cli/fixtures/files.h"
#include "tests/support/test_names.h"

namespace lenslet::test {

struct BadInput {
  const char* name;
  /// A command line for run_line().
  const char* command;
  int exit_code;
  /// Words expected on standard error, separated by '|'; for kOk on either stream. One at least says more than the
  /// command, the environment and the names of files: adds_reason().
  const char* fragments;
  /// NAME=value for the environment; "stdin:closed", "stdin:terminal", "stdout:full", "stdout:closed"; "rights:none"
  /// makes root obey file modes. Separated by spaces.
  const char* circumstances = "";
};

std::ostream& operator<<(std::ostream& out, const BadInput& bad);

/// Runs a row. Besides exit code and words it requires: no signal; one line on standard error that begins with the
/// program's name; no control character; no temporary file left; memory and time within those of a refusal. A row that
/// needs {dir}/full or {dir}/read_only is skipped, with the reason, if no disk can be mounted.
void expect_row(const BadInput& bad);

class BadInputTest : public testing::TestWithParam<BadInput> {};

}  // namespace lenslet::test
