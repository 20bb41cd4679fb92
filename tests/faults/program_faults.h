// Runs the programs with a backend that has a fault, on a small data set of its own.
#pragma once

#include <map>
#include <string>

#include "tests/support/programs.h"

namespace lenslet::test {

/// The folder that {dir} stands for: 40 digits of MNIST's form, removed at the end of the program.
const std::string& faults_folder();

/// "lenslet …" or "convbench …", {dir} expanded. The stand-in modules are found first.
ProgramRun run_with(const std::string& line, const std::map<std::string, std::string>& environment);

/// A file of {dir}.
nlohmann::json result_file(const std::string& name);
/// A result file, which must say ERROR and have `reason` in its reason.
nlohmann::json marked_file(const std::string& name, const std::string& reason);

/// Exit code 5 and one line on stderr that has these words, between '|'.
void expect_fault(const ProgramRun& run, const std::string& words);

}  // namespace lenslet::test
