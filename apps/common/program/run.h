// Run: the common part of commands that measure or judge: outputs, description of the machine and of how the run ended,
// the device's ceilings, rows, progress, and resuming an earlier run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/ceilings/ceilings.h"
#include "apps/common/command_line/output_options.h"
#include "apps/common/output/file_lock.h"
#include "apps/common/output/output.h"
#include "apps/common/output/progress.h"
#include "apps/common/results/document.h"
#include "apps/common/results/result_file.h"

namespace lenslet {

class Run {
 public:
  /// `outputs`: files that the command writes in addition to those of the options. `inputs`: files that it reads.
  /// Throws UsageError and OutputError as Console does.
  Run(std::string tool, const OutputOptions& options, std::vector<NamedFile> outputs = {},
      const std::vector<NamedFile>& inputs = {});

  /// For text; clears the progress bar first.
  Console& console();
  /// Call before anything is measured or written. `settings` are the options that change the numbers of a row, not only
  /// the selection of rows. Reads the file to resume; throws DataError if its environment or settings differ.
  void on(Device device, std::vector<std::pair<std::string, std::string>> settings = {});

  /// Runs `body`. A DeviceError or an InterruptedError ends `body` but not the command: the files contain the earlier
  /// results, and fault() or INTERRUPTED.
  void guard(const std::function<void()>& body);
  /// How the device failed; empty if it did not.
  const std::string& fault() const noexcept { return results_.error; }

  /// Writes --json, a document with that schema to which `body` adds members, and --csv.
  void write(const char* schema, const std::function<void(Document&)>& body, const std::string& csv) const;
  /// The files of --json and --csv for rows that are written as they come.
  template <class Row>
  RowFiles row_files(const char* schema, const char* list,
                     const std::function<void(JsonObject&)>& members) const {
    return {options_.json, options_.csv, schema, environment(), csv_row(Row{}).columns, list, members};
  }
  /// Throws DeviceError with fault(), if there is one. Returns kInterrupted after a signal, else `code`; the end of the
  /// time that the user allowed is no signal.
  ExitCode end(ExitCode code = ExitCode::kOk) const;

  // Commands whose files hold result rows:

  /// The first call reads the conditions, measures the ceilings unless the resumed file has them, and prints them.
  /// After a signal they are unknown (NaN), and null in the file.
  void take_ceilings();
  /// Call before take_ceilings() if nothing that was requested can run: it then measures none.
  void leave_out_ceilings() noexcept { wants_ceilings_ = false; }
  /// Unknown (NaN) if they were not measured.
  const Ceilings& ceilings() const noexcept { return ceilings_; }
  std::optional<Ceilings> measured_ceilings() const {
    return results_.ceilings ? std::optional(*results_.ceilings) : std::nullopt;
  }
  /// Call once all requested work is known to be possible: takes the ceilings. Shows the progress; `groups` is the
  /// total, `expected_s` the seconds that each is expected to take, empty if unknown.
  void begin(int64_t groups, const std::string& label, std::vector<double> expected_s = {});
  /// Call now and then while a group is measured, outside of what is timed: shows that the run continues.
  void pulse();
  /// Stores rows, writes them to the file (a run that ends early keeps them), and advances the progress by one group.
  void add(std::vector<ResultRow> rows);
  /// This run's rows so far, from `first` on.
  const std::vector<ResultRow>& rows() const noexcept { return results_.rows; }
  std::vector<ResultRow> rows_from(size_t first) const;
  /// The rows of the resumed file, if it has all of `wanted`; else none. Rows are matched by their identifying members
  /// (apps/common/results/result_reader.h). Rows that this run does not add stay in the file.
  std::vector<ResultRow> resumed(const std::vector<ResultRow>& wanted) const;
  /// Whether a signal arrived or the time is over: leave the loop; finish() writes the rows so far.
  bool stopped() const noexcept;
  /// `what` (a backend named by the user; empty: one of many) is unavailable. Unless it has a time elsewhere in this
  /// run (if `what` is empty: unless anything has), finish() ends with that code and reason.
  void refuse(const std::string& what, ExitCode code, const std::string& reason);

  /// Writes the files and the report. `extra` adds members to the --json file. Then throws fault(), CheckError for
  /// wrong rows (with --strict also for suspect ones), DeviceError for ERROR rows, and refusals; returns kInterrupted
  /// after a signal.
  ExitCode finish(const std::function<void(JsonObject&)>& extra = {});
  /// Calls `body`, which measures, then finish(). If `body` throws, the files contain the earlier results and the
  /// reason.
  ExitCode complete(const std::function<void()>& body);

 private:
  ResultEnvironment environment() const;
  void read_earlier();
  void save_so_far();
  /// Rows of the resumed file that this run has not added.
  std::vector<ResultRow> kept() const;
  /// Writes --json and, at the end of the run, --csv: this run's rows, then kept().
  void write_files(bool ended, const std::function<void(JsonObject&)>& extra = {}) const;
  void check_results() const;

  const OutputOptions options_;
  Console console_;
  ResultFile results_;
  Ceilings ceilings_;
  std::optional<Ceilings> earlier_ceilings_;  // of the resumed file: its rows were compared with them
  std::optional<FileLock> resumed_;           // the --json file, locked while this run adds to it
  std::vector<ResultRow> earlier_;            // of the resumed file, in order
  std::map<std::string, size_t> measured_;    // by row_key(): rows of earlier_ that need not be repeated
  struct Refused {
    ExitCode code;
    std::string reason;
  };
  std::map<std::string, Refused> refused_;
  Device device_;
  std::optional<ProgressBar> progress_;
  int64_t groups_done_ = 0;
  bool wants_ceilings_ = true, ceilings_taken_ = false, reported_unsaved_ = false;
};

}  // namespace lenslet
