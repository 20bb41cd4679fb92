// Result rows and the JSON and CSV files that hold them (docs/result_files.md has the schema).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/ceilings/ceilings.h"
#include "apps/common/fields/fields.h"
#include "apps/common/system/conditions.h"
#include "apps/common/system/other_load.h"
#include "framework/measuring/row_status.h"

namespace lenslet {

/// Deviation from the fp64 reference.
struct ResultError {
  double max_abs = 0, max_rel = 0;
  double bound = 0;     // the allowed max_abs, at the worst element
  int64_t checked = 0;  // elements compared

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v({"max_abs", "max_abs_error"}, self.max_abs)({"max_rel", "max_rel_error"}, self.max_rel);
    v("bound", self.bound)("checked", self.checked);
  }
};

/// A figure that a published study printed for the same case, on its own hardware.
struct PublishedFigure {
  double time_ns = NAN, gflops = NAN;  // one of them or both
  std::string source;                  // "study A (Quadro M4000, CUDA 10.2)"

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v({"time_ns", "published_ns"}, self.time_ns)("gflops", self.gflops)("source", self.source);
  }
};

/// Correctly classified images of a data set.
struct ResultAccuracy {
  int64_t correct = 0, count = 0;
  int64_t fp32_correct = 0;  // by the layered fp32 plan, in the same run
  int64_t differing = 0;     // images that the two plans classify differently

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v({"correct", "correct"}, self.correct)({"count", "counted"}, self.count);
    v({"fp32_correct", "fp32_correct"}, self.fp32_correct)({"differing", "differing"}, self.differing);
  }
};

/// One measurement. NaN, empty or nullopt means "does not apply" and becomes null.
struct ResultRow {
  std::string name;     // "conv1"
  std::string problem;  // problem string of a convolution
  std::string backend, detail;
  std::string dt = "fp32";  // of the elements of a convolution's tensors
  std::string math;
  std::string layout = "NCHW";
  std::string cache;  // "hot" or "cold"
  std::string status = row_status::kPassed;
  std::string reason;  // why it did not pass, or a remark
  std::string study;   // "a" to "e" for the published studies; else empty
  std::vector<std::pair<std::string, std::string>> labels;  // position of the row within its study, in order
  TimeStats time;                                           // ns
  bool replayed = false;                                    // all timed runs were replays of a CUDA graph
  double p99_ns = NAN;                                      // of single calls
  TimeStats end_to_end;                                     // ns, with the copies from and to the host
  std::vector<std::pair<std::string, double>> stages_ns;    // medians
  double setup_ns = NAN;                                    // preparation, once
  double first_call_ns = NAN;  // the first run, including one-time set-up, by the host clock; part of no mean
  std::optional<int64_t> workspace_bytes;
  double flops = NAN, bytes_ideal = NAN;
  /// Multiplications of the direct algorithm (counted in `flops`) divided by those of the kernel; Winograd and FFT:
  /// 2.25 and more. Above 1, gflops() is an effective rate.
  double products_saved = 1;
  double ceiling_fraction = NAN;
  std::string bound_by;
  std::optional<ResultError> error;
  int64_t images = 0;  // images that one run classifies; 0 if it classifies none
  std::optional<ResultAccuracy> accuracy;
  /// cuDNN's best time in the same run divided by this one; above 1 is faster than cuDNN.
  double ratio_to_cudnn = NAN;
  std::optional<PublishedFigure> published;
  std::vector<LaunchResources> launches;  // of our own kernels
  std::string repro;                      // the command that repeats the measurement
  std::string repro_benchdnn;             // the same measurement by oneDNN's benchdnn

  /// The text of a label; empty if the row does not have it.
  std::string label(std::string_view of) const;
  /// Rates at the median; NaN without a time.
  double gflops() const { return time.median > 0 ? flops / time.median : NAN; }
  double images_per_s() const {
    return images > 0 && time.median > 0 ? static_cast<double>(images) / time.median * 1e9 : NAN;
  }
  double gbytes_per_s() const { return time.median > 0 ? bytes_ideal / time.median : NAN; }

  /// What the row measures; see row_key().
  template <class Self, class V>
  static void identity(Self& self, V&& v) {
    v.later("study", self.study).later("labels", self.labels);
    v("name", self.name)("problem", self.problem)("backend", self.backend);
    v.later("dt", self.dt);
    v("math", self.math)("layout", self.layout)("cache", self.cache);
  }
  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    identity(self, v);
    v("detail", self.detail);
    v.one_of("status", self.status, row_status::kAll);
    v("reason", self.reason);
    v.time("time_ns", "samples", self.time);
    v.later("p99_ns", self.p99_ns);
    v.later("replayed", self.replayed);
    v.later_time("end_to_end_ns", "end_to_end_samples", self.end_to_end);
    v("stages_ns", self.stages_ns);
    v("setup_ns", self.setup_ns);
    v.later("first_call_ns", self.first_call_ns);
    v("workspace_bytes", self.workspace_bytes);
    v("flops", self.flops);
    v("bytes_ideal", self.bytes_ideal);
    v.later("products_saved", self.products_saved);
    v.derived("gflops", self.gflops());
    v.derived("gbytes_per_s", self.gbytes_per_s());
    v("ceiling_fraction", self.ceiling_fraction);
    v("bound_by", self.bound_by);
    v.later("images", self.images);
    v.derived("images_per_s", self.images_per_s());
    v("error", self.error);
    v.later("accuracy", self.accuracy);
    v.later("ratio_to_cudnn", self.ratio_to_cudnn);
    v.later("published", self.published);
    v.later("launches", self.launches);
    v("repro", self.repro);
    v.later("repro_benchdnn", self.repro_benchdnn);
  }
};

/// Computes the row's share of the ceiling that binds `work`, from its median, cache state and saved products. A PASSED
/// row that exceeds its ceiling becomes SUSPECT.
void apply_ceiling(ResultRow& row, const Ceilings& ceilings, const Work& work, MathMode math);

/// gflops() divided by `unit`, with "effective" after it if the row saves products; "-" without a time. `ns` replaces
/// the row's median.
std::string format_gflops(const ResultRow& row, double unit = 1, double ns = NAN);

struct ResultFile {
  static constexpr const char* kSchema = "lenslet.results/1";

  std::string tool;  // "lenslet profile"
  bool with_gpus = false;
  const Ceilings* ceilings = nullptr;  // may be null
  std::optional<Conditions> before;    // of the device before the run; to_json() reads those after it
  std::optional<OtherLoad> others;     // since `before`
  /// Options that change what a row measures, name and value, for --resume; empty if the file has none.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<ResultRow> rows;
  bool interrupted = false;
  std::string error;  // the device error that ended the run early; else empty

  /// The whole document. `extra` adds further members to the outermost object.
  std::string to_json(const std::function<void(JsonObject&)>& extra = {}) const;
  /// A heading, and one line per row.
  std::string to_csv() const { return csv_of(rows); }
};

}  // namespace lenslet
