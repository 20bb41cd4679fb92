#include "apps/lenslet/self_test.h"

#include <iterator>
#include <map>

#include "apps/common/attempt.h"
#include "apps/common/signals.h"
#include "apps/lenslet/self_test_fused.h"
#include "framework/error.h"
#include "framework/stream.h"
#include "layers/reference/subjects.h"

namespace lenslet {
namespace {

using reference::Subject;

ResultRow row_for(Device device, const Subject& subject, const std::string& backend) {
  ResultRow row;
  row.name = concat(device.to_string(), " ", subject.operation(), " ", backend);
  row.backend = backend;
  return row;
}

ResultRow verified_row(const Subject& subject, const std::string& backend, MathMode math, Stream& stream) {
  ResultRow row = row_for(stream.device(), subject, backend);
  row.problem = subject.problem();
  if (subject.uses_math()) row.math = to_string(math);
  if (!subject.fused().empty()) row.name += concat(", ", subject.fused(), " fused");
  attempt(row, [&] {
    const VerifyResult result = subject.verify(backend, math, stream);
    row.status = result.passed ? "PASSED" : "FAILED";
    row.reason = result.reason;
    row.detail = result.detail;
    row.error = ResultError{result.max_abs, result.max_rel, result.bound, result.checked};
    if (result.passed) row.repro = "bitwise";  // the verifier runs everything twice and compares the bits
  });
  return row;
}

/// Tells once which backends cannot be had.
class Openings {
 public:
  Openings(const SelfTestOptions& options, std::vector<ResultRow>& rows) : options_(options), rows_(rows) {}
  /// Whether the backend is there; where it is not, the first call adds a SKIPPED row.
  bool open(const Subject& subject, const std::string& backend) {
    const auto [known, first] = known_.emplace(std::string(subject.operation()) + " " + backend, true);
    if (first) known->second = opens(subject, backend);
    return known->second;
  }

 private:
  bool opens(const Subject& subject, const std::string& backend) {
    std::string reason = options_.why_not;
    if (options_.usable) {
      const auto refusal = attempt([&] { subject.open(options_.device.kind, backend); });
      if (!refusal) return true;
      reason = refusal->reason;
    }
    rows_.push_back(row_for(options_.device, subject, backend));
    rows_.back().status = "SKIPPED";
    rows_.back().reason = reason;
    return false;
  }

  const SelfTestOptions& options_;
  std::vector<ResultRow>& rows_;
  std::map<std::string, bool> known_;  // by operation and backend
};

std::vector<ResultRow> subjects_self_test(const SelfTestOptions& options) {
  std::vector<ResultRow> rows;
  Openings openings(options, rows);
  const Device device = options.usable ? options.device : Device::cpu();
  DeviceGuard guard(device);
  Stream stream(device);
  for (const auto& subject : reference::short_subjects({options.seed, options.workspace_limit})) {
    for (const std::string& backend : subject->backends(options.device.kind)) {
      if (!openings.open(*subject, backend)) continue;
      for (const MathMode math : reference::kMathModes) {
        if (interrupted()) return rows;
        if (math != MathMode::kFp32 && !subject->uses_math()) continue;
        if (!subject->offered(options.device.kind, backend, math)) continue;
        rows.push_back(verified_row(*subject, backend, math, stream));
        // After a CUDA fault every later call fails as well: more rows would only repeat it.
        if (rows.back().status == "ERROR") return rows;
      }
    }
  }
  return rows;
}

}  // namespace

std::vector<ResultRow> self_test(const SelfTestOptions& options) {
  std::vector<ResultRow> rows;
  for (const auto& test : {subjects_self_test, fused_self_test}) {
    std::vector<ResultRow> more = test(options);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    if (interrupted() || (!rows.empty() && rows.back().status == "ERROR")) break;
  }
  return rows;
}

}  // namespace lenslet
