// The HTML page of figures and tables that apps/report makes from result files.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// Runs apps/report/report.py over `json_files` and writes one self-contained page to `html`. The script is the one
/// that LENSLET_REPORT_SCRIPT names, else share/lenslet/report/report.py of the installation or build that the program
/// is in; the interpreter is LENSLET_PYTHON, else python3 on PATH, else /usr/bin/python3: the first that has
/// matplotlib. Throws UnavailableError where script, interpreter or matplotlib is missing, saying how to get it,
/// DataError where a file is none that can be shown, and OutputError where the page cannot be written.
void write_report(const std::vector<std::string>& json_files, const std::string& html);

}  // namespace lenslet
