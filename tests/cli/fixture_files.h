// Files for the tests of the programs: a tiny data set, and everything that can be wrong with a file.
#pragma once

#include <string>

#include "tests/support/subprocess.h"

namespace lenslet::test {

/// A temporary folder with all the files, made once a process and removed at its end.
const std::string& fixture_folder();

/// `text` with {dir} replaced by fixture_folder() and {source} by the source tree.
std::string expand(std::string text);

/// Runs `lenslet` with blank-separated arguments ({dir} and {source} expanded). LENSLET_MNIST_DIR is unset, the
/// folder is the fixtures'.
ProgramRun lenslet(const std::string& arguments, ProgramOptions options = {});

}  // namespace lenslet::test
