// Files for the tests of the programs: a tiny data set, and everything that can be wrong with a file.
#pragma once

#include <string>

#include "tests/support/programs.h"

namespace lenslet::test {

/// A temporary folder with all the files, made once a process and removed at its end.
const std::string& fixture_folder();

/// Mounts {dir}/full, a disk on which nothing is left, and {dir}/read_only, for this process and those that it starts.
/// Empty, or why neither can be had here.
const std::string& mount_disks();

/// `text` with {dir} replaced by fixture_folder() and {source} by the source tree; {space}, {newline} and {bytes} (two
/// that are not UTF-8) stand for what a table of words cannot hold, {long} for 5,000 letters.
std::string expand(std::string text);

/// A command line with {eval}, {classify} and the other beginnings that many share (fixture_files.cpp) written out.
std::string in_full(const std::string& line);
/// Runs "lenslet …" or "convbench …", in_full() and expanded, in the folder.
ProgramRun run_line(const std::string& line, ProgramOptions options = {});
/// Without the program's name.
ProgramRun lenslet(const std::string& arguments, ProgramOptions options = {});
ProgramRun convbench(const std::string& arguments, ProgramOptions options = {});

/// A result file; {dir} is expanded.
nlohmann::json read_json(const std::string& path);

}  // namespace lenslet::test
