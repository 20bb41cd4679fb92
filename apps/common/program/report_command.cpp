#include "apps/common/program/report_command.h"

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"

namespace lenslet {

ExitCode run_report(const ReportRequest& request) {
  std::vector<NamedFile> inputs;
  for (const std::string& file : request.files) inputs.emplace_back("FILE", file);
  for (const std::string& file : request.beside) inputs.emplace_back("--beside", file);
  Console console({{"--html", request.html}}, inputs);
  write_report(request);
  console.line(describe_written(request));
  return ExitCode::kOk;
}

}  // namespace lenslet
