#include "apps/common/results/report_page.h"

#include "apps/common/system/python_script.h"
#include "framework/io/file.h"

namespace lenslet {
namespace {

const PythonScript& script() {
  static const PythonScript report{"report/report.py",
                                   "apps/report/report.py",
                                   "LENSLET_REPORT_SCRIPT",
                                   "report: ",
                                   "the report",
                                   "a page",
                                   "apt-get install python3 python3-matplotlib"};
  return report;
}

}  // namespace

void check_report_tools() { script().run({"--check"}); }

void write_report(const ReportRequest& request) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  const bool prints = is_standard_output(request.html);
  add("--html", prints ? "-" : request.html);
  add("--figures", request.figures);
  if (!request.figures.empty()) add("--format", request.format);
  for (const std::string& file : request.beside) arguments.push_back("--beside=" + file);
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), request.files.begin(), request.files.end());
  script().run(arguments, prints);
}

}  // namespace lenslet
