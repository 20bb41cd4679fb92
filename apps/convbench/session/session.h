// BenchSession: the Run of a convbench subcommand, with its device and stream.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/program/run.h"
#include "apps/convbench/session/options.h"
#include "apps/measuring/expected_time.h"
#include "apps/measuring/measured_rows.h"
#include "framework/device/stream.h"

namespace lenslet {

class BenchSession : public Run {
 public:
  enum class Needs { kAnyDevice, kGpu };
  /// Chooses the device and prints it. `outputs` are files that the subcommand writes besides those of the options,
  /// `inputs` those that it reads. Throws UsageError, UnavailableError (with the name of the subcommand if it needs a
  /// GPU and none is usable), and the errors of Run and Run::on().
  BenchSession(const BenchOptions& options, const std::string& subcommand, Needs needs = Needs::kAnyDevice,
               std::vector<NamedFile> outputs = {}, const std::vector<NamedFile>& inputs = {});

  const BenchOptions& options() const noexcept { return options_; }
  /// The options of measuring, with a pulse that shows the progress.
  MeasureOptions measure_options() {
    MeasureOptions options = options_.measure;
    options.pulse = [this] { pulse(); };
    return options;
  }
  Device device() const noexcept { return stream_.device(); }
  Stream& stream() noexcept { return stream_; }
  /// The cache states of the options and the ceilings of this run.
  RowContext row_context() const { return {options_.measure.hot, options_.measure.cold, &ceilings()}; }

  /// Call once the command line is known to be valid: takes the ceilings unless the groups have no runs, and prints how
  /// long measuring these groups takes if that is long. The progress of the next each() corrects this estimate by the
  /// groups that it has measured.
  void announce(const std::vector<ExpectedGroup>& groups, MathMode math);

  /// Calls `measure` for each case until a signal arrives, and for the first in any case: an interrupted run has rows.
  /// Returns the rows of all. `groups`: calls of add() per case.
  template <class Case, class Measure>
  std::vector<ResultRow> each(const std::string& label, const std::vector<Case>& cases, Measure&& measure,
                              int64_t groups = 1) {
    begin(groups * static_cast<int64_t>(cases.size()), label, std::exchange(expected_s_, {}));
    const size_t before = rows().size();
    for (const Case& one : cases) {
      measure(one);
      if (stopped()) break;
    }
    return rows_from(before);
  }

 private:
  const BenchOptions& options_;
  std::string device_reason_;
  Stream stream_;
  std::vector<double> expected_s_;  // of the groups that announce() named
};

/// Runs a whole session: `body` measures (Run::complete).
ExitCode with_session(const BenchOptions& options, const std::string& subcommand, BenchSession::Needs needs,
                      const std::function<void(BenchSession&)>& body, std::vector<NamedFile> outputs = {},
                      const std::vector<NamedFile>& inputs = {});

}  // namespace lenslet
