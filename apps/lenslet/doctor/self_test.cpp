#include "apps/lenslet/doctor/self_test.h"

#include <iterator>
#include <map>
#include <memory>
#include <numeric>

#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/candidates/drawn_digits.h"
#include "apps/lenslet/candidates/logits_check.h"
#include "framework/base/error.h"
#include "framework/device/stream.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/pixels.h"
#include "layers/reference/guarded_run.h"
#include "layers/reference/subjects.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

using reference::NetworkSubject;
using reference::Subject;

constexpr int64_t kSamples = 67;  // more than a tile, with a tail

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
    row.status = result.passed ? row_status::kPassed : row_status::kFailed;
    row.reason = result.reason;
    row.detail = result.detail;
    row.error = ResultError{result.max_abs, result.max_rel, result.bound, result.checked};
  });
  return row;
}

/// Reports each unavailable backend once.
class Openings {
 public:
  Openings(const SelfTestOptions& options, std::vector<ResultRow>& rows) : options_(options), rows_(rows) {}
  /// Whether the backend is available; if not, the first call adds a SKIPPED row.
  bool open(const Subject& subject, const std::string& backend) {
    const auto [known, first] = known_.emplace(std::string(subject.operation()) + " " + backend, true);
    if (first) known->second = opens(subject, backend);
    return known->second;
  }

 private:
  bool opens(const Subject& subject, const std::string& backend) {
    std::string reason = options_.target.why_not;
    if (options_.target.usable) {
      const auto refusal = attempt([&] { subject.open(options_.target.device.kind, backend); });
      if (!refusal) return true;
      reason = refusal->reason;
    }
    rows_.push_back(row_for(options_.target.device, subject, backend));
    rows_.back().status = row_status::kSkipped;
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
  const Device device = options.target.usable ? options.target.device : Device::cpu();
  DeviceGuard guard(device);
  Stream stream(device);
  for (const auto& subject : reference::short_subjects({options.seed, options.workspace_limit})) {
    for (const std::string& backend : subject->backends(options.target.device.kind)) {
      if (!openings.open(*subject, backend)) continue;
      for (const MathMode math : kMathModes) {
        if (interrupted()) return rows;
        if (math != MathMode::kFp32 && !subject->uses_math()) continue;
        if (!subject->offered(options.target.device.kind, backend, math)) continue;
        rows.push_back(verified_row(*subject, backend, math, stream));
        // After a CUDA fault every later call also fails, so further rows would only repeat it.
        if (rows.back().status == row_status::kError) return rows;
      }
    }
  }
  return rows;
}

/// The model, its input samples and the reference's logits. The samples have 16 greys, so that packing does not
/// change them.
struct ModelWithSamples {
  explicit ModelWithSamples(uint64_t seed)
      : graph(make_lenet5(builtin_lenet5_weights(), "built-in weights")),
        pixels(in_greys(drawn_digits(kSamples, seed))),
        expected(graph, pixels.data(), kSamples) {}
  static std::vector<uint8_t> in_greys(std::vector<uint8_t> pixels) {
    round_to_greys(pixels.data(), static_cast<int64_t>(pixels.size()));
    return pixels;
  }
  Graph graph;
  std::vector<uint8_t> pixels;
  ReferenceLogits expected;
};

ResultRow row_for(const NetworkSubject& subject) {
  const OperatorRequest& request = subject.request;
  ResultRow row;
  row.name = concat(request.device.to_string(), " fused ", subject.backend);
  row.backend = subject.backend;
  row.math = to_string(request.math);
  row.layout.clear();
  row.problem =
      concat("batch ", request.batch(), ", ", to_string(request.input_type), " in, ",
             request.output_type == ElementType::kFp32 ? "logits" : to_string(request.output_type), " out");
  return row;
}

void verify(const ModelWithSamples& model, const NetworkSubject& subject, Stream& stream, ResultRow& row) {
  const OperatorRequest& request = subject.request;
  const Layer& network = *model.graph.network();
  const std::unique_ptr<Operator> op = network.prepare(subject.backend, request, stream);
  const int64_t pixels = request.inputs[0].num_elements();
  std::vector<float> samples(static_cast<size_t>(pixels));  // room for any type
  convert_pixels(ElementType::kUint8, model.pixels.data(), pixels, model.graph.normalisation(),
                 request.input_type, samples.data());
  const reference::GuardedRun run =
      reference::run_guarded(stream, *op, {nullptr, request.inputs[0], request.device, request.input_type},
                             samples.data(), {nullptr, request.output, request.device, request.output_type});
  row.reason = run.fault;
  if (!row.reason.empty()) return;
  std::vector<int32_t> sample_of(static_cast<size_t>(request.batch()));
  std::iota(sample_of.begin(), sample_of.end(), 0);
  row.error.emplace();
  row.reason = model.expected.compare(request.output_type, run.output.data(), sample_of,
                                      network.output_bound(subject.backend, request), *row.error);
}

ResultRow verified_row(const ModelWithSamples& model, const NetworkSubject& subject,
                       const SelfTestOptions& options, Stream& stream) {
  ResultRow row = row_for(subject);
  if (const Support support = model.graph.network()->supports(subject.backend, subject.request); !support) {
    row.status = row_status::kUnsupported;
    row.reason = support.reason();
    return row;
  }
  if (!options.target.usable) {
    row.status = row_status::kSkipped;
    row.reason = options.target.why_not;
    return row;
  }
  attempt(row, [&] {
    verify(model, subject, stream, row);
    row.status = row.reason.empty() ? row_status::kPassed : row_status::kFailed;
  });
  return row;
}

// One row per whole-network backend, math mode, batch, input and output: the built-in model's answers for some
// samples.
std::vector<ResultRow> network_self_test(const SelfTestOptions& options) {
  const ModelWithSamples model(options.seed);
  const Device device = options.target.usable ? options.target.device : Device::cpu();
  DeviceGuard guard(device);
  Stream stream(device);
  std::vector<ResultRow> rows;
  for (const NetworkSubject& subject :
       reference::network_subjects(model.graph, options.target.device, {1, kSamples})) {
    if (interrupted()) return rows;
    rows.push_back(verified_row(model, subject, options, stream));
    if (rows.back().status == row_status::kError) return rows;
  }
  return rows;
}

}  // namespace

std::vector<ResultRow> self_test(const SelfTestOptions& options) {
  std::vector<ResultRow> rows;
  for (const auto& test : {subjects_self_test, network_self_test}) {
    std::vector<ResultRow> more;
    try {
      more = test(options);
    } catch (const InterruptedError&) {
      break;  // while its data were made: it has no rows yet
    }
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    if (interrupted() || (!rows.empty() && rows.back().status == row_status::kError)) break;
  }
  return rows;
}

}  // namespace lenslet
