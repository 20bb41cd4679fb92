// BenchSession: what every measuring subcommand has in common: device, ceilings, rows, files, the way it ends.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/ceilings.h"
#include "apps/common/file_lock.h"
#include "apps/common/output.h"
#include "apps/common/progress.h"
#include "apps/common/result_file.h"
#include "apps/convbench/options.h"
#include "apps/measuring/measured_rows.h"
#include "framework/stream.h"

namespace lenslet {

class BenchSession {
 public:
  enum class Needs { kAnyDevice, kGpu };
  /// Chooses the device and says which. Throws UsageError, UnavailableError (which names the
  /// subcommand where that needs a GPU and there is none to use).
  BenchSession(const BenchOptions& options, const std::string& subcommand, Needs needs = Needs::kAnyDevice);

  const BenchOptions& options() const noexcept { return options_; }
  Device device() const noexcept { return stream_.device(); }
  /// "NVIDIA H200" or the CPU's model.
  std::string device_name() const;
  Stream& stream() noexcept { return stream_; }
  /// For text; takes the progress bar away first.
  Console& console();
  const Ceilings& ceilings() const noexcept { return ceilings_; }
  const MeasureOptions& measure_options() const noexcept { return options_.measure; }
  /// As the options ask, judged by the ceilings of this run.
  RowContext row_context() const { return {options_.measure.hot, options_.measure.cold, &ceilings_}; }
  /// Call when all that was asked for is known to be possible: the first time it measures the ceilings, unless the file
  /// that
  /// --resume names has them. Says on a terminal how far things are: `groups` in all.
  void begin(int64_t groups, const std::string& label);
  /// Keeps rows, files them (so that a run that ends early leaves what it has), and moves the progress on by one group.
  void add(std::vector<ResultRow> rows);
  /// The rows of an earlier run, where --resume was given and that run measured every one of `wanted`; else empty. Only
  /// the members that identify a row count (apps/common/result_reader.h). Rows that this run does not add stay in the
  /// file.
  std::vector<ResultRow> resumed(const std::vector<ResultRow>& wanted) const;
  /// Those that this run was asked for, so far.
  const std::vector<ResultRow>& rows() const noexcept { return results_.rows; }

  /// Whether Ctrl-C asked for the end: leave the loop, finish() writes what there is.
  bool stopped() const noexcept;

  /// `what` (a backend asked for by name; empty: one of many) could not serve. Unless it serves elsewhere in this run
  /// (or anything does, where `what` is empty), finish() ends with that code and reason.
  void refuse(const std::string& what, ExitCode code, const std::string& reason);
  /// Writes the files and the report, says what went wrong. Throws CheckError for wrong results (and with --strict for
  /// suspect ones), DeviceError for rows that ended in an error, and for what was refused; kInterrupted after Ctrl-C.
  ExitCode finish();
  /// Writes the files as they are, marked with what ended the run; none before begin().
  void fail(const std::string& how);

 private:
  void read_earlier();
  void take_ceilings();
  /// Rows of the file to resume that this run has not added.
  std::vector<ResultRow> kept() const;
  /// What goes to the files: this run's rows, then kept().
  ResultFile whole_file() const;
  void save();
  void write_files() const;
  const BenchOptions& options_;
  std::string subcommand_;
  Console console_;
  std::string device_reason_;
  Stream stream_;
  Ceilings ceilings_;
  std::optional<Ceilings> earlier_ceilings_;  // of the file to resume: its rows were judged by them
  ResultFile results_;
  std::optional<FileLock> resumed_;         // the --json file, while this run adds to it
  std::vector<ResultRow> earlier_;          // of the file to resume, in order
  std::map<std::string, size_t> measured_;  // by row_key(), those of earlier_ that need no other try
  struct Refusal {
    ExitCode code;
    std::string reason;
  };
  std::map<std::string, Refusal> refusals_;
  std::optional<ProgressBar> progress_;
  int64_t groups_done_ = 0;
  bool begun_ = false;
};

/// The files that every measuring subcommand writes.
std::vector<NamedFile> files_written(const BenchOptions& options);
/// Throws UsageError where one of them is a file of --problems.
void demand_problems_kept(const BenchOptions& options, const std::vector<std::string>& problem_files);

/// A session from beginning to end: `body` measures. Whatever it throws, what was measured before is in the files, with
/// the reason.
ExitCode with_session(const BenchOptions& options, const std::string& subcommand, BenchSession::Needs needs,
                      const std::function<void(BenchSession&)>& body);

}  // namespace lenslet
