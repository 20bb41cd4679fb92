// Reads result files strictly: a wrong or damaged file is an error that names the key, never a row of zeros. For
// `convbench compare` and `--resume`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/results/document.h"
#include "apps/common/results/result_file.h"
#include "apps/common/system/environment.h"

namespace lenslet {

/// One file.
struct ReadResults {
  std::string path;
  ResultEnvironment environment;
  std::string status;  // one of document_status::kAll
  std::string reason;  // for ERROR
  std::optional<Ceilings> ceilings;
  std::vector<ResultRow> rows;

  bool complete() const { return status == document_status::kComplete; }
};

/// Reads a lenslet.results/1 file. Throws DataError with file, row and key for invalid JSON, another schema, a missing
/// or repeated key, a value of the wrong type or range, more than 100,000 rows or 1,024 entries of another list. Throws
/// InterruptedError once stopped(). Keys that older files lack (`later` in the field lists) may be missing;
/// unknown keys are ignored.
ReadResults read_results(const std::string& path);
/// Like read_results(), for a text; messages name `origin`.
ReadResults parse_results(const std::string& text, const std::string& origin);

/// Identifies what a row measures: study, labels, name, problem, backend, dt, math, layout and cache as one text. Two
/// rows with the same key measured the same thing. The label `change`, a description of a rung, is left out.
std::string row_key(const ResultRow& row);

}  // namespace lenslet
