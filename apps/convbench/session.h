// BenchSession: the Run of a convbench subcommand, with its device and stream.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/convbench/options.h"
#include "apps/measuring/run.h"
#include "framework/stream.h"

namespace lenslet {

class BenchSession : public Run {
 public:
  enum class Needs { kAnyDevice, kGpu };
  /// Chooses the device and prints it. Throws UsageError, UnavailableError (with the name of the subcommand if it needs
  /// a GPU and none is usable), and the errors of Run::on().
  BenchSession(const BenchOptions& options, const std::string& subcommand, Needs needs = Needs::kAnyDevice);

  const BenchOptions& options() const noexcept { return options_; }
  const MeasureOptions& measure_options() const noexcept { return options_.measure; }
  Device device() const noexcept { return stream_.device(); }
  Stream& stream() noexcept { return stream_; }
  /// Measures as the options say; ceilings are those of this run.
  RowContext row_context() const { return {options_.measure.hot, options_.measure.cold, &ceilings()}; }

 private:
  const BenchOptions& options_;
  std::string device_reason_;
  Stream stream_;
};

/// The files that every measuring subcommand writes.
std::vector<NamedFile> files_written(const BenchOptions& options);
/// Throws UsageError if one of them is also a file of --problems.
void demand_problems_kept(const BenchOptions& options, const std::vector<std::string>& problem_files);

/// Runs a whole session: `body` measures (Run::complete).
ExitCode with_session(const BenchOptions& options, const std::string& subcommand, BenchSession::Needs needs,
                      const std::function<void(BenchSession&)>& body);

}  // namespace lenslet
