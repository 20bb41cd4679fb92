// The command `report` of both programs: draws result files.
#pragma once

#include "apps/common/command_line/command_line.h"
#include "apps/common/results/report_page.h"
#include "framework/base/error.h"

namespace lenslet {

/// Writes the page or the figures. Throws UsageError if an output is also an input, and the errors of write_report().
ExitCode run_report(const ReportRequest& request);

/// Adds the command `report`; `examples` are those of the program.
inline void add_report_command(CommandLine& line, const char* examples) {
  const auto report = line.command("report", "Draw result files: a page, or figures", run_report, examples);
  line.arguments("file", Text{"FILE.json"}, LENSLET_MEMBER(files),
                 "result files of one run; of equal rows the last file's count", report, 1);
  line.repeated("--beside", Text{"FILE.json"}, LENSLET_MEMBER(beside),
                "a result file of another run, to show side by side; may be given repeatedly", report);
  line.option("--html", Text{"FILE.html"}, LENSLET_MEMBER(html),
              "figures and tables as one page that needs no network", report);
  line.option("--figures", Text{"DIR"}, LENSLET_MEMBER(figures), "each figure as a file in this folder",
              report);
  line.option("--format", words({"svg", "png", "pdf"}), LENSLET_MEMBER(format), "of these files", report);
  line.refuse(
      "report expects something to write: --html page.html, or --figures DIR",
      [](const auto& o) { return o.html.empty() && o.figures.empty(); }, report);
  line.refuse(
      "the page and figures as PNG or PDF are drawn separately; leave out --html or --figures",
      [](const auto& o) { return !o.html.empty() && !o.figures.empty() && o.format != "svg"; }, report);
}

}  // namespace lenslet
