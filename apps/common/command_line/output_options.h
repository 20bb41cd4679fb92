// Options for the files that a command writes and for its exit code.
#pragma once

#include <string>

#include "apps/common/output/table.h"

namespace lenslet {

struct OutputOptions {
  std::string json, csv, report;  // files; "-" is standard output, empty means none
  bool strict = false;            // a SUSPECT row counts as a failure
  bool resume = false;            // keep the rows of an existing --json file
  TableOptions tables;
};

}  // namespace lenslet
