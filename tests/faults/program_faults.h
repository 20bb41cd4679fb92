// Runs the programs with a backend that has a fault, on a small data set of its own.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/subprocess.h"

namespace lenslet::test {

/// The folder that {dir} stands for: data/ with 40 digits, removed at the end of the program.
const std::string& faults_folder();

/// "lenslet …" or "convbench …", blank-separated; {dir} and {source} are expanded. The stand-in modules are found
/// first.
ProgramRun run_with(const std::string& line, const std::map<std::string, std::string>& environment);

/// A result file, which must say ERROR and have `reason` in its reason.
nlohmann::json marked_file(const std::string& name, const std::string& reason);

/// Exit code 5 and one line on stderr that has all of these.
void expect_fault(const ProgramRun& run, const std::vector<std::string>& fragments);

}  // namespace lenslet::test
