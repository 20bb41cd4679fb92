#include "apps/common/program/run.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/common/results/report_page.h"
#include "apps/common/results/result_reader.h"
#include "apps/common/system/environment.h"
#include "apps/common/system/loaded_libraries.h"
#include "apps/common/system/signals.h"
#include "framework/base/counted.h"
#include "framework/measuring/row_status.h"
#include "layers/conv/conv_registry.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

/// Opens the libraries that the file was measured with, so that versions can be compared. Else they open on first use:
/// the matrix product's with the ceilings, which a resumed run does not measure.
void open_libraries(const std::vector<LoadedLibrary>& wanted, DeviceKind kind) {
  const auto all_loaded = [&] {
    const std::vector<LoadedLibrary> loaded = loaded_libraries();
    return std::all_of(wanted.begin(), wanted.end(), [&](const LoadedLibrary& library) {
      return std::any_of(loaded.begin(), loaded.end(),
                         [&](const LoadedLibrary& its) { return its.name == library.name; });
    });
  };
  const auto open = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (row.kind() != BackendEntry::Kind::kModule || all_loaded()) continue;
      attempt([&] { row.open(); });  // same_environment() reports a missing library
    }
  };
  for (const DeviceKind of : {kind, DeviceKind::kCpu}) {
    open(conv_backend_entries(of));
    open(gemm_table().entries(of));
  }
}

// "winograd is wrong: mb1ic3…: skipped work", "batch 64, simd fp16 is wrong: …".
std::string about(const ResultRow& row, const char* what) {
  return concat(row.images > 0 ? concat("batch ", row.images, ", ") : "", row.backend,
                row.images > 0 ? concat(" ", row.math) : "", what, row.problem,
                row.problem.empty() ? "" : ": ", row.reason);
}

std::vector<NamedFile> with_files_of(const OutputOptions& options, std::vector<NamedFile> outputs) {
  outputs.insert(outputs.begin(),
                 {{"--json", options.json}, {"--csv", options.csv}, {"--report", options.report}});
  return outputs;
}

}  // namespace

Run::Run(std::string tool, const OutputOptions& options, std::vector<NamedFile> outputs,
         const std::vector<NamedFile>& inputs)
    : options_(options), console_(with_files_of(options, std::move(outputs)), inputs, options.tables) {
  results_.tool = std::move(tool);
  if (!options_.report.empty()) check_report_tools();
}

void Run::on(Device device, std::vector<std::pair<std::string, std::string>> settings) {
  device_ = device;
  results_.with_gpus = device.is_cuda();
  results_.settings = std::move(settings);
  if (options_.resume) read_earlier();
}

void Run::read_earlier() {
  resumed_.emplace(options_.json);
  if (::access(options_.json.c_str(), F_OK) != 0) return;  // no file to resume
  ReadResults earlier = read_results(options_.json);
  open_libraries(earlier.environment.libs, device_.kind);
  const ResultEnvironment here = environment();
  std::string reason;
  if (!same_environment(earlier.environment, here, &reason)) {
    throw DataError(
        concat(options_.json, " was measured differently (", reason,
               "), so --resume cannot go on from it: give another --json file, or leave out --resume"));
  }
  if (earlier.ceilings && earlier.ceilings->device != device_) {
    throw DataError(concat(options_.json, " was measured on ", earlier.ceilings->device.to_string(),
                           ", this run is on ", device_.to_string(), ": give --device ",
                           earlier.ceilings->device.to_string(), ", or another --json file"));
  }
  earlier_ceilings_ = std::move(earlier.ceilings);
  earlier_ = std::move(earlier.rows);
  for (size_t i = 0; i < earlier_.size(); ++i) {
    if (earlier_[i].status == row_status::kSkipped || earlier_[i].status == row_status::kError)
      continue;  // measured again
    measured_.emplace(row_key(earlier_[i]), i);
  }
  console_.line(
      concat("going on from ", printable(options_.json), ", which has ", counted(earlier_.size(), "row")));
}

Console& Run::console() {
  if (progress_) progress_->clear();
  return console_;
}

void Run::guard(const std::function<void()>& body) {
  try {
    body();
  } catch (const InterruptedError&) {
    if (!stopped()) throw;  // else the files would be COMPLETE
  } catch (const DeviceError& error) {
    results_.error = error.what();
  }
}

ResultEnvironment Run::environment() const {
  return this_environment(results_.tool, results_.with_gpus, results_.settings);
}

void Run::write(const char* schema, const std::function<void(Document&)>& body,
                const std::string& csv) const {
  write_document(options_.json, schema, environment(), [&](Document& document) {
    document.status(interrupted(), fault());
    body(document);
  });
  write_result(options_.csv, csv);
}

ExitCode Run::end(ExitCode code) const {
  if (!fault().empty()) throw DeviceError(fault());
  return interrupted() && !out_of_time() ? ExitCode::kInterrupted : code;
}

// Called before anything else is timed: measuring the ceilings warms the clocks up, and every row is compared with
// them. A file has one set of ceilings, so a resumed run keeps the file's.
void Run::take_ceilings() {
  if (std::exchange(ceilings_taken_, true)) return;
  results_.before = read_conditions(device_);
  results_.others.emplace();
  results_.ceilings = &ceilings_;
  if (earlier_ceilings_) {
    ceilings_ = *earlier_ceilings_;
    console().line(
        concat("the ceilings are those of ", printable(options_.json), ", measured when it was begun"));
    return;
  }
  if (!wants_ceilings_) {
    results_.ceilings = nullptr;
    return;
  }
  try {
    ceilings_ = measure_ceilings(device_);
  } catch (const InterruptedError&) {
    results_.ceilings = nullptr;  // so that a run that resumes the file measures them
    return;
  }
  console().line(describe(ceilings_), 4);
  if (!ceilings_.notes.empty() && device_.is_cuda())
    console().line("not measured: " + printable(ceilings_.notes));
}

void Run::begin(int64_t groups, const std::string& label, std::vector<double> expected_s) {
  take_ceilings();
  groups_done_ = 0;
  progress_.emplace(label, groups);
  progress_->expect(std::move(expected_s));
}

void Run::pulse() {
  if (progress_) progress_->pulse();
}

void Run::add(std::vector<ResultRow> rows) {
  for (ResultRow& row : rows) results_.rows.push_back(std::move(row));
  save_so_far();
  if (progress_) progress_->update(++groups_done_);
}

// A full disk does not end the run: what is measured is still printed, and finish() writes the file or reports why not.
void Run::save_so_far() {
  try {
    write_files(false);
  } catch (const ClosedPipe&) {
    throw;
  } catch (const OutputError& error) {
    if (std::exchange(reported_unsaved_, true)) return;
    console().line(concat(printable(error.what()), "; the run continues and tries again after every row"));
  }
}

std::vector<ResultRow> Run::rows_from(size_t first) const {
  return {rows().begin() + static_cast<std::ptrdiff_t>(first), rows().end()};
}

std::vector<ResultRow> Run::resumed(const std::vector<ResultRow>& wanted) const {
  std::vector<ResultRow> rows;
  for (const ResultRow& row : wanted) {
    const auto found = measured_.find(row_key(row));
    if (found == measured_.end()) return {};
    rows.push_back(earlier_[found->second]);
  }
  return rows;
}

bool Run::stopped() const noexcept { return interrupted(); }

void Run::refuse(const std::string& what, ExitCode code, const std::string& reason) {
  refused_.emplace(what, Refused{code, reason});
}

std::vector<ResultRow> Run::kept() const {
  std::set<std::string> added;
  for (const ResultRow& row : rows()) added.insert(row_key(row));
  std::vector<ResultRow> kept;
  for (const ResultRow& row : earlier_) {
    if (added.count(row_key(row)) == 0) kept.push_back(row);
  }
  return kept;
}

// The status is INTERRUPTED until the run ends, so that a killed program leaves no file marked COMPLETE.
void Run::write_files(bool ended, const std::function<void(JsonObject&)>& extra) const {
  if (options_.json.empty() && !ended) return;
  ResultFile file = results_;
  file.interrupted = !ended || interrupted();
  for (ResultRow& row : kept()) file.rows.push_back(std::move(row));
  if (!options_.json.empty() && (ended || !is_stream(options_.json)))
    write_result(options_.json, file.to_json(extra));
  if (ended && !options_.csv.empty()) write_result(options_.csv, file.to_csv());
}

void Run::check_results() const {
  for (const ResultRow& row : rows()) {
    if (row.status == row_status::kFailed) throw CheckError(about(row, " is wrong: "));
  }
  for (const ResultRow& row : rows()) {
    if (row.status == row_status::kError) throw DeviceError(about(row, " could not be run: "));
  }
  for (const auto& [what, refused] : refused_) {
    if (out_of_time()) break;  // what would have measured it may be left out
    const bool measured = std::any_of(rows().begin(), rows().end(), [what = what](const ResultRow& row) {
      return row.time.samples > 0 && (what.empty() || row.backend == what);
    });
    if (!measured) throw Error(refused.code, refused.reason);
  }
  const auto suspects = std::count_if(
      rows().begin(), rows().end(), [](const ResultRow& row) { return row.status == row_status::kSuspect; });
  if (options_.strict && suspects > 0) {
    throw CheckError(
        concat(suspects, suspects == 1 ? " row is" : " rows are", " SUSPECT, and --strict was given"));
  }
}

ExitCode Run::finish(const std::function<void(JsonObject&)>& extra) {
  progress_.reset();
  write_files(true, extra);
  if (const size_t others = kept().size(); others > 0) {
    console_.line(concat("kept ", counted(others, "row"), " of ", printable(options_.json),
                         " that this run does not measure"));
  }
  const bool timed =
      std::any_of(rows().begin(), rows().end(), [](const ResultRow& row) { return row.time.samples > 0; });
  if (timed && results_.others) {
    const OtherLoad& others = *results_.others;
    const std::string note = busy_note(others.cores(), others.allowed_cores(), read_conditions(device_));
    if (!note.empty()) console_.line(note);
  }
  if (out_of_time()) {
    console_.line(concat("stopped by --max-seconds: the rows so far are whole",
                         options_.json.empty() ? "" : ", --resume continues"));
  }
  if (!options_.report.empty()) {
    const ReportRequest report = {{options_.json}, {}, options_.report, "", ""};
    write_report(report);
    console_.line(describe_written(report));
  }
  if (const ExitCode code = end(); code != ExitCode::kOk) return code;
  check_results();
  return ExitCode::kOk;
}

ExitCode Run::complete(const std::function<void()>& body) {
  try {
    body();
  } catch (const InterruptedError&) {
    // The signal came between two groups or while data were generated: the finished rows are written as usual.
  } catch (const std::exception& error) {
    progress_.reset();
    results_.error = error.what();
    if (ceilings_taken_) write_files(true);  // a usage error leaves the file of an earlier run as it is
    throw;
  }
  return finish();
}

}  // namespace lenslet
