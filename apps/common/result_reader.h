// Result files read back: strictly, so that a wrong or damaged file is an error that names the key, never a row of
// zeros. Serves `convbench compare` and `--resume`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/result_file.h"

namespace lenslet {

/// A library that a file was measured with; `version` is empty where the file has null.
struct ResultLibrary {
  std::string name, version, path;
};

/// What the rows of a file were measured with.
struct ResultEnvironment {
  std::string tool;  // "convbench sweep"
  std::string version, git;
  bool dirty = false;  // built from a tree with changes that are in no commit
  std::string build_type, compiler, cuda_compiler;
  std::vector<std::string> argv;
  std::string time_utc;
  std::string cpu;
  int64_t threads_used = 0;
  std::vector<std::string> devices;  // names of the GPUs, in the runtime's order; empty: CUDA was not used
  std::vector<ResultLibrary> libs;
  std::vector<std::pair<std::string, std::string>> settings;  // ResultFile::settings

  /// The GPUs, or the CPU where there are none: "NVIDIA H200", "2 x NVIDIA H200". A few words that can be shown, whatever
  /// the file holds.
  std::string device_name() const;
};

/// One file.
struct ReadResults {
  std::string path;
  ResultEnvironment environment;
  std::string status;  // COMPLETE, INTERRUPTED or ERROR
  std::string reason;  // of an ERROR
  std::optional<Ceilings> ceilings;
  std::vector<ResultRow> rows;

  bool complete() const { return status == "COMPLETE"; }
};

/// Reads a lenslet.results/1 file. Throws DataError with the file, the row and the key: not JSON, another schema, a
/// missing or repeated key, a value of another type or range, more than 100,000 rows or 1,024 devices or libraries; and
/// InterruptedError once reading_stopped(). Keys that older files of this schema lack (study, labels,
/// end_to_end_ns, ratio_to_cudnn, published, launches, repro_benchdnn, settings) may be missing; further keys are passed
/// over.
ReadResults read_results(const std::string& path);
/// The same of a text; `origin` names it in messages.
ReadResults parse_results(const std::string& text, const std::string& origin);

/// The environment of this process, as a file that it wrote now would read back.
ResultEnvironment this_environment(const std::string& tool, bool with_gpus,
                                   const std::vector<std::pair<std::string, std::string>>& settings = {});

/// What a row measures: study, labels, name, problem, backend, math, layout and cache as one text. Two rows with one key
/// measured the same thing. The label `change` describes a rung in words, so it is left out.
std::string row_key(const ResultRow& row);

/// Whether rows of the file `a` may stand in one file with those that `b` measures: same tool, version, commit, build,
/// devices, threads and settings, and every library of `a` in its version; one that `a` did not need may be anything.
/// Modified trees of one commit count as equal, because the file says `dirty`. Otherwise `reason` says what differs.
bool same_environment(const ResultEnvironment& a, const ResultEnvironment& b, std::string* reason);

}  // namespace lenslet
