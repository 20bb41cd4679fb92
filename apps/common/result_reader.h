// Result files read back: strictly, so that a wrong or damaged file is an error that names the key, never a row of
// zeros. Serves `convbench compare` and `--resume`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/environment.h"
#include "apps/common/result_file.h"

namespace lenslet {

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
/// missing or repeated key, a value of another type or range, more than 100,000 rows or 1,024 entries of another list;
/// and InterruptedError once reading_stopped(). Keys that older files lack (`later` in the field lists) may be missing;
/// further keys are ignored.
ReadResults read_results(const std::string& path);
/// The same of a text; `origin` names it in messages.
ReadResults parse_results(const std::string& text, const std::string& origin);

/// What a row measures: study, labels, name, problem, backend, math, layout and cache as one text. Two rows with one
/// key measured the same thing. The label `change` describes a rung in words, so it is left out.
std::string row_key(const ResultRow& row);

}  // namespace lenslet
