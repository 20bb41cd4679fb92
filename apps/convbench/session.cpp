#include "apps/convbench/session.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "apps/common/attempt.h"
#include "apps/common/environment.h"
#include "apps/common/loaded_libraries.h"
#include "apps/common/report_page.h"
#include "apps/common/result_reader.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "framework/parallel.h"
#include "layers/conv/conv_registry.h"
#include "layers/reference/interruption.h"

namespace lenslet {
namespace {

Device chosen_device(const BenchOptions& options, std::string& reason) {
  if (options.threads) set_num_threads(*options.threads);
  const DeviceChoice choice = choose_device(options.device);
  if (options.device == "auto") reason = choice.reason;
  return choice.device;
}

void require_gpu(Device device, const std::string& subcommand) {
  if (device.is_cuda()) return;
  const std::string why = cuda_status().usable ? "it was given --device cpu" : cuda_status().reason;
  throw UnavailableError(concat("convbench ", subcommand, " measures CUDA kernels and needs a GPU, but ", why,
                                "; run, sweep, filter and separable work on the CPU"));
}

/// What changes the numbers of a row, and not only which rows there are.
std::vector<std::pair<std::string, std::string>> settings_of(const BenchOptions& options) {
  const MeasureOptions& measure = options.measure;
  const bool limited = options.workspace_limit != SIZE_MAX;
  return {{"seed", std::to_string(options.seed)},
          {"dist", dist_name(options.fill)},
          {"verify", to_string(measure.verify)},
          {"workspace_limit", limited ? concat(options.workspace_limit, " bytes") : "default"},
          {"warmup_ms", concat(measure.warmup_ms)},
          {"min_time_ms", concat(measure.min_time_ms)},
          {"max_noise", std::isfinite(measure.max_noise) ? concat(measure.max_noise) : "any"}};
}

/// Libraries are opened when they are first needed; those that a file's rows needed are wanted now, to be compared.
void open_libraries(const std::vector<LoadedLibrary>& wanted, DeviceKind kind) {
  const auto all_loaded = [&] {
    const std::vector<LoadedLibrary> loaded = loaded_libraries();
    return std::all_of(wanted.begin(), wanted.end(), [&](const LoadedLibrary& library) {
      return std::any_of(loaded.begin(), loaded.end(),
                         [&](const LoadedLibrary& its) { return its.name == library.name; });
    });
  };
  for (const DeviceKind of : {kind, DeviceKind::kCpu}) {
    for (const ConvBackendEntry& entry : conv_backend_rows(of)) {
      if (entry.kind() != ConvBackendEntry::Kind::kModule || all_loaded()) continue;
      attempt([&] { entry.open(); });  // the comparison tells what is missing then
    }
  }
}

}  // namespace

BenchSession::BenchSession(const BenchOptions& options, const std::string& subcommand, Needs needs)
    : options_(options),
      subcommand_(subcommand),
      console_({{"--json", options.json}, {"--csv", options.csv}}),
      stream_(chosen_device(options, device_reason_)) {
  demand_different_files(files_written(options));
  demand_writable({{"--report", options.report}});
  if (needs == Needs::kGpu) require_gpu(device(), subcommand);
  std::string text = concat(device().to_string(), " (", device_name());
  if (!device().is_cuda()) text += concat(", ", num_threads(), num_threads() == 1 ? " thread" : " threads");
  console_.line(concat(text, ")", device_reason_.empty() ? "" : ", ", device_reason_));
  reference::stop_when([] { return interrupted(); });
  results_.tool = "convbench " + subcommand;
  results_.with_gpus = device().is_cuda();
  results_.ceilings = &ceilings_;
  results_.settings = settings_of(options);
  if (options.resume) read_earlier();
}

void BenchSession::read_earlier() {
  resumed_.emplace(options_.json);
  if (::access(options_.json.c_str(), F_OK) != 0) return;  // nothing to go on from
  ReadResults earlier = read_results(options_.json);
  open_libraries(earlier.environment.libs, device().kind);
  const ResultEnvironment here = this_environment(results_.tool, results_.with_gpus, results_.settings);
  std::string reason;
  if (!same_environment(earlier.environment, here, &reason)) {
    throw DataError(
        concat(options_.json, " was measured otherwise (", reason,
               "), so --resume cannot go on from it: give another --json file, or leave out --resume"));
  }
  if (earlier.ceilings && earlier.ceilings->device != device()) {
    throw DataError(concat(options_.json, " was measured on ", earlier.ceilings->device.to_string(),
                           ", this run is on ", device().to_string(), ": give --device ",
                           earlier.ceilings->device.to_string(), ", or another --json file"));
  }
  earlier_ceilings_ = std::move(earlier.ceilings);
  earlier_ = std::move(earlier.rows);
  for (size_t i = 0; i < earlier_.size(); ++i) {
    if (earlier_[i].status == "SKIPPED" || earlier_[i].status == "ERROR") continue;  // worth another try
    measured_.emplace(row_key(earlier_[i]), i);
  }
  console_.line(concat("going on from ", printable(options_.json), ", which has ", earlier_.size(), " rows"));
}

std::vector<ResultRow> BenchSession::resumed(const std::vector<ResultRow>& wanted) const {
  std::vector<ResultRow> rows;
  for (const ResultRow& row : wanted) {
    const auto found = measured_.find(row_key(row));
    if (found == measured_.end()) return {};
    rows.push_back(earlier_[found->second]);
  }
  return rows;
}

std::vector<ResultRow> BenchSession::kept() const {
  std::set<std::string> added;
  for (const ResultRow& row : rows()) added.insert(row_key(row));
  std::vector<ResultRow> kept;
  for (const ResultRow& row : earlier_) {
    if (added.count(row_key(row)) == 0) kept.push_back(row);
  }
  return kept;
}

ResultFile BenchSession::whole_file() const {
  ResultFile file = results_;
  for (ResultRow& row : kept()) file.rows.push_back(std::move(row));
  return file;
}

std::string BenchSession::device_name() const {
  if (!device().is_cuda()) return cpu_model();
  return cuda_status().devices.at(static_cast<size_t>(device().ordinal)).name;
}

Console& BenchSession::console() {
  if (progress_) progress_->clear();
  return console_;
}

void BenchSession::begin(int64_t groups, const std::string& label) {
  if (!begun_) {
    begun_ = true;
    results_.before = read_conditions(device());
    take_ceilings();
  }
  groups_done_ = 0;
  progress_.emplace(label, groups);
}

// One file has one set of ceilings, by which each of its rows was judged: a run that goes on from a file keeps the
// file's.
void BenchSession::take_ceilings() {
  if (earlier_ceilings_) {
    ceilings_ = *earlier_ceilings_;
    console().line(
        concat("the ceilings are those of ", printable(options_.json), ", measured when it was begun"));
    return;
  }
  // Before everything else that is timed: they warm the clocks up, and every row is judged by them.
  ceilings_ = measure_ceilings(device());
  console().line(describe(ceilings_));
  if (!ceilings_.notes.empty() && device().is_cuda())
    console().line("not measured: " + printable(ceilings_.notes));
}

void BenchSession::add(std::vector<ResultRow> rows) {
  for (ResultRow& row : rows) results_.rows.push_back(std::move(row));
  save();
  if (progress_) progress_->update(++groups_done_);
}

bool BenchSession::stopped() const noexcept { return interrupted(); }

void BenchSession::refuse(const std::string& what, ExitCode code, const std::string& reason) {
  refusals_.emplace(what, Refusal{code, reason});
}

// Until finish() a file says INTERRUPTED: whatever ends the program, it never passes for a whole one.
void BenchSession::save() {
  results_.interrupted = true;
  if (!options_.json.empty() && !is_stream(options_.json))
    write_result(options_.json, whole_file().to_json());
}

void BenchSession::write_files() const {
  const ResultFile file = whole_file();
  if (!options_.json.empty()) write_result(options_.json, file.to_json());
  if (!options_.csv.empty()) write_result(options_.csv, file.to_csv());
}

void BenchSession::fail(const std::string& how) {
  progress_.reset();
  if (!begun_) return;  // a usage error keeps the file of an earlier run
  results_.interrupted = false;
  results_.error = how;
  write_files();
}

ExitCode BenchSession::finish() {
  progress_.reset();
  results_.interrupted = interrupted();
  write_files();
  if (const size_t others = kept().size(); others > 0) {
    console_.line(concat("kept ", others, others == 1 ? " row" : " rows", " of ", printable(options_.json),
                         " that this run was not asked for"));
  }
  if (!options_.report.empty()) write_report({options_.json}, options_.report);
  if (interrupted()) return ExitCode::kInterrupted;
  const auto describe = [](const ResultRow& row, const char* what) {
    return concat(row.backend, what, row.problem, row.problem.empty() ? "" : ": ", row.reason);
  };
  for (const ResultRow& row : rows()) {
    if (row.status == "FAILED") throw CheckError(describe(row, " is wrong: "));
  }
  for (const ResultRow& row : rows()) {
    if (row.status == "ERROR") throw DeviceError(describe(row, " could not be run: "));
  }
  const auto measured = [&](const std::string& what) {
    return std::any_of(rows().begin(), rows().end(), [&](const ResultRow& row) {
      return row.time.samples > 0 && (what.empty() || row.backend == what);
    });
  };
  for (const auto& [what, refusal] : refusals_) {
    if (!measured(what)) throw Error(refusal.code, refusal.reason);
  }
  const auto suspects = std::count_if(rows().begin(), rows().end(),
                                      [](const ResultRow& row) { return row.status == "SUSPECT"; });
  if (options_.strict && suspects > 0) {
    throw CheckError(
        concat(suspects, suspects == 1 ? " row is" : " rows are", " SUSPECT, and --strict was given"));
  }
  return ExitCode::kOk;
}

std::vector<NamedFile> files_written(const BenchOptions& options) {
  return {{"--json", options.json}, {"--csv", options.csv}, {"--report", options.report}};
}

void demand_problems_kept(const BenchOptions& options, const std::vector<std::string>& problem_files) {
  std::vector<NamedFile> read;
  for (const std::string& file : problem_files) read.emplace_back("--problems", file);
  demand_different_files(files_written(options), read);
}

ExitCode with_session(const BenchOptions& options, const std::string& subcommand, BenchSession::Needs needs,
                      const std::function<void(BenchSession&)>& body) {
  BenchSession session(options, subcommand, needs);
  try {
    body(session);
  } catch (const InterruptedError&) {
    // Between two problems, or while the data of one were made: the rows so far are filed as after any Ctrl-C.
  } catch (const std::exception& error) {
    session.fail(error.what());
    throw;
  }
  return session.finish();
}

}  // namespace lenslet
