// The options by which a command names the files that it writes and how it ends.
#pragma once

#include <string>

namespace lenslet {

struct OutputOptions {
  std::string json, csv, report;  // files; "-" is standard output, empty none
  bool strict = false;            // a SUSPECT row is a failure
  bool resume = false;            // keep what the --json file already has
};

}  // namespace lenslet
