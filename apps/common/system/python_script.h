// A Python script that a command runs: found beside the program, with the first interpreter that has what it needs.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

struct PythonScript {
  std::string path;      // below share/lenslet of the installation or build: "report/report.py"
  std::string source;    // the same in a checkout
  const char* variable;  // of the environment, with another path
  std::string prefix;    // of the script's own messages
  std::string purpose;   // "the report"
  std::string product;   // "a page"
  std::string remedy;    // what to do without Python

  /// Runs it. The interpreter is LENSLET_PYTHON, else the first of python3 on PATH and /usr/bin/python3 that does not
  /// end with 4. Throws UnavailableError if script, interpreter or what it needs is missing; UsageError, DataError and
  /// OutputError as its exit code states. Its standard output is this program's only if `prints`; else it counts as
  /// messages.
  void run(const std::vector<std::string>& arguments, bool prints = false) const;
};

}  // namespace lenslet
