// Run: what commands that measure or judge have in common. Where text and files go, what the files tell of the
// machine and of how the run ended, the device's ceilings, rows as they come, progress, and an earlier run that is
// resumed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/ceilings.h"
#include "apps/common/document.h"
#include "apps/common/file_lock.h"
#include "apps/common/output.h"
#include "apps/common/output_options.h"
#include "apps/common/progress.h"
#include "apps/common/result_file.h"
#include "apps/measuring/measured_rows.h"

namespace lenslet {

class Run {
 public:
  /// `outputs`: files that the command writes besides those of the options, `inputs`: what it reads. Throws
  /// UsageError and OutputError as Console does.
  Run(std::string tool, const OutputOptions& options, std::vector<NamedFile> outputs = {},
      const std::vector<NamedFile>& inputs = {});

  /// For text; takes the progress bar away first.
  Console& console();
  /// Call before anything is measured or written. `settings` change the numbers of a row, and not only which rows there
  /// are. Reads the file to resume: throws DataError if it was measured otherwise.
  void on(Device device, std::vector<std::pair<std::string, std::string>> settings = {});

  /// Runs `body`. A DeviceError ends it, not the command: the files tell fault(), and what was done before it.
  void guard(const std::function<void()>& body);
  /// How the device failed; empty if it did not.
  const std::string& fault() const noexcept { return results_.error; }

  /// Writes --json, a document of that schema to which `body` adds its members, and --csv.
  void write(const char* schema, const std::function<void(Document&)>& body, const std::string& csv) const;
  /// Throws DeviceError with fault(). Returns kInterrupted after a signal, else `code`.
  ExitCode end(ExitCode code = ExitCode::kOk) const;

  // Commands whose files hold result rows:

  /// Reads the conditions and measures the ceilings, unless the file to resume has them, and prints them.
  void take_ceilings();
  const Ceilings& ceilings() const noexcept { return ceilings_; }
  /// Call when all that was asked for is known to be possible: the first time it takes the ceilings. Shows on a
  /// terminal how far things are: `groups` in all.
  void begin(int64_t groups, const std::string& label);
  /// Keeps rows, files them (so that a run that ends early leaves what it has), and moves the progress on by one group.
  void add(std::vector<ResultRow> rows);
  /// Those of this run so far, from the `first` on.
  const std::vector<ResultRow>& rows() const noexcept { return results_.rows; }
  std::vector<ResultRow> rows_from(size_t first) const;
  /// The rows of the file to resume, if it has every one of `wanted`; else none. Only the members that identify a row
  /// count (apps/common/result_reader.h). Rows that this run does not add stay in the file.
  std::vector<ResultRow> resumed(const std::vector<ResultRow>& wanted) const;
  /// Whether a signal asked for the end: leave the loop, finish() writes what there is.
  bool stopped() const noexcept;
  /// `what` (a backend asked for by name; empty: one of many) could not serve. Unless it serves elsewhere in this run
  /// (or anything does, if `what` is empty), finish() ends with that code and reason.
  void refuse(const std::string& what, ExitCode code, const std::string& reason);

  /// Writes the files and the report. `extra` adds members to the --json file. Then throws fault(), CheckError for
  /// wrong rows (and with --strict for suspect ones), DeviceError for rows that ended in an error, and what was
  /// refused; returns kInterrupted after a signal.
  ExitCode finish(const std::function<void(JsonObject&)>& extra = {});
  /// Calls `body`, which measures, then finish(). Whatever `body` throws, what was measured is in the files, with the
  /// reason.
  ExitCode complete(const std::function<void()>& body);

 private:
  void read_earlier();
  /// Rows of the file to resume that this run has not added.
  std::vector<ResultRow> kept() const;
  /// Writes --json, and --csv where the run ends: this run's rows, then kept().
  void write_files(bool ended, const std::function<void(JsonObject&)>& extra = {}) const;
  void demand_results() const;

  const OutputOptions options_;
  Console console_;
  ResultFile results_;
  Ceilings ceilings_;
  std::optional<Ceilings> earlier_ceilings_;  // of the file to resume: its rows were judged by them
  std::optional<FileLock> resumed_;           // the --json file, while this run adds to it
  std::vector<ResultRow> earlier_;            // of the file to resume, in order
  std::map<std::string, size_t> measured_;    // by row_key(), those of earlier_ that need no other try
  struct Refused {
    ExitCode code;
    std::string reason;
  };
  std::map<std::string, Refused> refused_;
  Device device_;
  std::optional<ProgressBar> progress_;
  int64_t groups_done_ = 0;
  bool begun_ = false;
};

}  // namespace lenslet
