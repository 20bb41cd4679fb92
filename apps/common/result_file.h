// Result rows and the JSON and CSV files that hold them (docs/measuring.md has the schema).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/ceilings.h"
#include "apps/common/json_writer.h"
#include "framework/statistics.h"

namespace lenslet {

/// Deviation from the fp64 reference.
struct ResultError {
  double max_abs = 0, max_rel = 0;
  double bound = 0;     // what max_abs was allowed to be, at the worst element
  int64_t checked = 0;  // elements compared
};

/// One measurement. NaN, empty or nullopt means "does not apply" and becomes null.
struct ResultRow {
  std::string name;     // "conv1"
  std::string problem;  // problem string of a convolution
  std::string backend, detail;
  std::string math;
  std::string layout = "NCHW";
  std::string cache;  // "hot" or "cold"
  std::string status = "PASSED";
  std::string reason;                                     // why not PASSED, or what the row is
  TimeStats time;                                         // ns
  std::vector<std::pair<std::string, double>> stages_ns;  // medians
  double setup_ns = NAN;
  std::optional<int64_t> workspace_bytes;
  double flops = NAN, bytes_ideal = NAN;
  double ceiling_fraction = NAN;
  std::string bound_by;
  std::optional<ResultError> error;
  std::string repro;  // "bitwise", "run to run differs", …

  /// Rates at the median; NaN where there is no time.
  double gflops() const { return time.median > 0 ? flops / time.median : NAN; }
  double gbytes_per_s() const { return time.median > 0 ? bytes_ideal / time.median : NAN; }
};

struct ResultFile {
  static constexpr const char* kSchema = "lenslet.results/1";

  std::string tool;  // "lenslet profile"
  bool with_gpus = false;
  const Ceilings* ceilings = nullptr;  // may be null
  std::vector<ResultRow> rows;
  bool interrupted = false;
  std::string error;  // how the device failed and so ended the run early; empty where it did not

  /// The whole document. `extra` writes further members into the outermost object.
  std::string to_json(const std::function<void(JsonWriter&)>& extra = {}) const;
  /// One line a row, with a heading.
  std::string to_csv() const;
};

/// The members `status` ("COMPLETE", "INTERRUPTED" or "ERROR", whichever is worse) and `reason` of any result file.
void write_run_status(JsonWriter& json, bool interrupted, const std::string& error);
/// The members `name`: {min, p10, median, p90, max, samples}, or null without samples.
void write_time_stats(JsonWriter& json, const char* name, const TimeStats& stats);

}  // namespace lenslet
