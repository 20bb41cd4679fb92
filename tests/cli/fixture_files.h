// Files for the tests of the programs: a tiny data set, and everything that can be wrong with a file.
#pragma once

#include <string>

#include "tests/support/subprocess.h"

namespace lenslet::test {

/// A temporary folder with all the files, made once a process and removed at its end.
const std::string& fixture_folder();

/// Mounts {dir}/full, a disk on which nothing is left, and {dir}/read_only, for this process and those that it starts.
/// Empty, or why neither can be had here.
const std::string& mount_disks();

/// `text` with {dir} replaced by fixture_folder() and {source} by the source tree; {space}, {newline} and {bytes} (two
/// that are not UTF-8) stand for what a table of words cannot hold, {long} for 5,000 letters.
std::string expand(std::string text);

/// Where `lenslet` or `convbench` lies that the functions below run.
std::string program_path(const std::string& name);

/// Runs `lenslet` with blank-separated arguments, expanded. LENSLET_MNIST_DIR is unset, the folder is the fixtures'.
/// Where the environment variable LENSLET_TEST_PREFIX names an installation, its bin/lenslet is run, else the build's.
ProgramRun lenslet(const std::string& arguments, ProgramOptions options = {});
/// The same for `convbench`.
ProgramRun convbench(const std::string& arguments, ProgramOptions options = {});

}  // namespace lenslet::test
