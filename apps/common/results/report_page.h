// The HTML page of figures and tables that apps/report generates from result files.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// Throws UnavailableError, as write_report() would, if script, interpreter or matplotlib is missing. Call it before
/// anything is measured.
void demand_report();

/// Runs apps/report/report.py on `json_files` and writes one self-contained page to `html`. The script is
/// LENSLET_REPORT_SCRIPT, else share/lenslet/report/report.py of the program's installation or build. The interpreter
/// is LENSLET_PYTHON, else the first of python3 on PATH and /usr/bin/python3 that has matplotlib. Throws
/// UnavailableError, with the way to get it, if script, interpreter or matplotlib is missing; DataError if a file
/// cannot be shown; OutputError if the page cannot be written.
void write_report(const std::vector<std::string>& json_files, const std::string& html);

}  // namespace lenslet
