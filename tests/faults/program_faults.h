// Runs the programs with a faulty backend on a small data set.
#pragma once

#include <map>
#include <string>

#include "tests/support/programs.h"

namespace lenslet::test {

/// The folder for {dir}: 40 digits in MNIST's format, removed at the end of the program.
const std::string& faults_folder();

/// "lenslet …" or "convbench …", with {dir} expanded. The stand-in modules are found first.
ProgramRun run_with(const std::string& line, const std::map<std::string, std::string>& environment);

/// The content of a file in {dir}.
nlohmann::json result_file(const std::string& name);
/// Checks a result file: it must have the status ERROR and a reason that contains `reason`.
nlohmann::json marked_file(const std::string& name, const std::string& reason);

/// Expects exit code 5 and one line on stderr that contains these words, separated by '|'.
void expect_fault(const ProgramRun& run, const std::string& words);

}  // namespace lenslet::test
