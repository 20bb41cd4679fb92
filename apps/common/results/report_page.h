// The page and the figures that apps/report draws from result files.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

/// Throws UnavailableError, as write_report() would, if script, interpreter or matplotlib is missing. Call it before
/// anything is measured.
void check_report_tools();

/// What is drawn from which files, and where it is written.
struct ReportRequest {
  std::vector<std::string> files;   // result files of a run
  std::vector<std::string> beside;  // of another run, drawn beside it; empty: none
  std::string html;                 // a self-contained page; empty: none
  std::string figures;              // a folder for each figure as a file; empty: none
  std::string format = "svg";       // of these files, or "png", "pdf"
};

/// Runs apps/report/report.py. The script is LENSLET_REPORT_SCRIPT, else share/lenslet/report/report.py of the
/// program's installation or build. The interpreter is LENSLET_PYTHON, else the first of python3 on PATH and
/// /usr/bin/python3 that has matplotlib. Throws UnavailableError, with the way to get it, if script, interpreter or
/// matplotlib is missing; DataError if a file cannot be shown; OutputError if the page cannot be written.
void write_report(const ReportRequest& request);
/// "page.html written from a.json and b.json".
std::string describe_written(const ReportRequest& request);

}  // namespace lenslet
