#include "apps/common/results/report_page.h"

#include "apps/common/system/python_script.h"
#include "framework/base/counted.h"
#include "framework/base/text.h"
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

std::string describe_written(const ReportRequest& request) {
  std::string written = is_standard_output(request.html) ? "the page" : printable_excerpt(request.html);
  if (!request.figures.empty())
    written += concat(written.empty() ? "" : " and ", "figures in ", printable_excerpt(request.figures));
  const std::string first = printable_excerpt(request.files.at(0));
  const size_t more = request.files.size() - 1;
  std::string text =
      concat(written, " written from ", first, more > 0 ? concat(" and ", counted(more, "other file")) : "");
  if (!request.beside.empty())
    text += concat(", beside ", counted(request.beside.size(), "file"), " of another run");
  return text;
}

}  // namespace lenslet
