// Files for the tests of the programs: a tiny data set, and every kind of invalid file.
#pragma once

#include <string>

#include "tests/support/programs.h"

namespace lenslet::test {

/// A temporary folder with all the files, created once per process and removed at its end.
const std::string& fixture_folder();

/// Mounts {dir}/full, a full disk, and {dir}/read_only, for this process and its children. Returns the reason if that
/// is impossible, else an empty text.
const std::string& mount_disks();

/// `text` with {dir} replaced by fixture_folder() and {source} by the source tree. {space}, {newline} and {bytes} (two
/// bytes that are not UTF-8) replace what a table of words cannot contain, {long} 5,000 letters.
std::string expand(std::string text);

/// A command line with {eval}, {classify} and other common beginnings expanded (fixture_files.cpp).
std::string in_full(const std::string& line);
/// Runs "lenslet …" or "convbench …" in the folder, after in_full() and expansion.
ProgramRun run_line(const std::string& line, ProgramOptions options = {});
/// The same without the program's name.
ProgramRun lenslet(const std::string& arguments, ProgramOptions options = {});
ProgramRun convbench(const std::string& arguments, ProgramOptions options = {});

/// Writes a file and its folders, and returns its whole path; {dir} is expanded.
std::string write_file(const std::string& path, const std::string& bytes);
/// A result file; {dir} is expanded.
nlohmann::json read_json(const std::string& path);

}  // namespace lenslet::test
