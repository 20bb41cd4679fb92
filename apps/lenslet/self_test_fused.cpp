#include "apps/lenslet/self_test_fused.h"

#include <memory>
#include <numeric>

#include "apps/common/attempt.h"
#include "apps/common/signals.h"
#include "apps/lenslet/drawn_digits.h"
#include "apps/lenslet/logits_check.h"
#include "framework/error.h"
#include "framework/stream.h"
#include "layers/reference/guarded_run.h"
#include "layers/reference/subjects.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

using reference::FusedSubject;

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
constexpr int64_t kPictures = 67;  // more than fills a tile, with a rest

/// The model, pictures for it and what the judge says of them.
struct PicturedModel {
  explicit PicturedModel(uint64_t seed)
      : graph(make_lenet5(builtin_lenet5_weights(), "built-in weights")),
        pixels(drawn_digits(kPictures, seed)),
        normalised(pixels.size()),
        expected(graph, pixels.data(), kPictures) {
    graph.normalization().apply(pixels.data(), kPictures * kPixels, normalised.data());
  }
  Graph graph;
  std::vector<uint8_t> pixels;
  std::vector<float> normalised;
  ReferenceLogits expected;
};

ResultRow row_for(const FusedSubject& subject) {
  const FusedRequest& request = subject.request;
  ResultRow row;
  row.name = concat(request.device.to_string(), " fused ", subject.variant);
  row.backend = subject.variant;
  row.math = to_string(request.math);
  row.layout.clear();
  row.problem = concat("batch ", request.batch, ", ", to_string(request.input), " in, ",
                       request.output == ElementType::kFp32 ? "logits" : to_string(request.output), " out");
  return row;
}

void verify(const PicturedModel& model, const FusedSubject& subject, Stream& stream, ResultRow& row) {
  const FusedRequest& request = subject.request;
  const FusedModel& fused = *model.graph.fused();
  const std::unique_ptr<Operator> op = fused.prepare(subject.variant, request, stream);
  const void* const pictures = request.input == ElementType::kUint8
                                   ? static_cast<const void*>(model.pixels.data())
                                   : model.normalised.data();
  const bool logits = request.output == ElementType::kFp32;
  const reference::GuardedRun run = reference::run_guarded(
      stream, *op, {nullptr, {request.batch, 1, kLenet5Side, kLenet5Side}, request.device, request.input},
      pictures,
      {nullptr, logits ? Shape{request.batch, kLenet5Classes} : Shape{request.batch}, request.device,
       request.output});
  row.reason = run.fault;
  if (!row.reason.empty()) return;
  std::vector<int32_t> picture_of(static_cast<size_t>(request.batch));
  std::iota(picture_of.begin(), picture_of.end(), 0);
  row.error.emplace();
  row.reason = model.expected.compare(request.output, run.output.data(), picture_of,
                                      fused.output_bound(subject.variant, request), *row.error);
}

ResultRow verified_row(const PicturedModel& model, const FusedSubject& subject,
                       const SelfTestOptions& options, Stream& stream) {
  ResultRow row = row_for(subject);
  if (const Support support = model.graph.fused()->supports(subject.variant, subject.request); !support) {
    row.status = "UNSUPPORTED";
    row.reason = support.reason();
    return row;
  }
  if (!options.usable) {
    row.status = "SKIPPED";
    row.reason = options.why_not;
    return row;
  }
  attempt(row, [&] {
    verify(model, subject, stream, row);
    row.status = row.reason.empty() ? "PASSED" : "FAILED";
    if (row.reason.empty()) row.repro = "bitwise";
  });
  return row;
}

}  // namespace

std::vector<ResultRow> fused_self_test(const SelfTestOptions& options) {
  const PicturedModel model(options.seed);
  const Device device = options.usable ? options.device : Device::cpu();
  DeviceGuard guard(device);
  Stream stream(device);
  std::vector<ResultRow> rows;
  for (const FusedSubject& subject :
       reference::fused_subjects(*model.graph.fused(), options.device, {1, kPictures})) {
    if (interrupted()) return rows;
    rows.push_back(verified_row(model, subject, options, stream));
    if (rows.back().status == "ERROR") return rows;
  }
  return rows;
}

}  // namespace lenslet
