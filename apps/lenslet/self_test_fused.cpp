#include "apps/lenslet/self_test_fused.h"

#include <cstring>
#include <memory>
#include <numeric>

#include "apps/common/signals.h"
#include "apps/lenslet/drawn_digits.h"
#include "apps/lenslet/logits_check.h"
#include "apps/lenslet/self_test_layers.h"
#include "framework/error.h"
#include "framework/stream.h"
#include "layers/reference/guarded_memory.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
constexpr int64_t kBatches[] = {1, 67};  // one image, and more than fills a tile, with a rest
constexpr int64_t kPictures = 67;

/// The model, pictures for it and what the judge says of them.
struct Subject {
  explicit Subject(uint64_t seed)
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

ResultRow row_for(const std::string& variant, const FusedRequest& request) {
  ResultRow row;
  row.name = concat(request.device.to_string(), " fused ", variant);
  row.backend = variant;
  row.math = to_string(request.math);
  row.layout.clear();
  row.problem = concat("batch ", request.batch, ", ", to_string(request.input), " in, ",
                       request.output == ElementType::kFp32 ? "logits" : to_string(request.output), " out");
  return row;
}

// Two runs among canaries, on memory filled with a NaN and with another pattern.
void run_guarded(const Subject& subject, const std::string& variant, const FusedRequest& request,
                 Stream& stream, ResultRow& row) {
  const FusedModel& model = *subject.graph.fused();
  const std::unique_ptr<Operator> op = model.prepare(variant, request, stream);
  ConstTensorView input{nullptr, {request.batch, 1, kLenet5Side, kLenet5Side}, request.device, request.input};
  const bool logits = request.output == ElementType::kFp32;
  TensorView output{nullptr, logits ? Shape{request.batch, kLenet5Classes} : Shape{request.batch},
                    request.device, request.output};
  GuardedMemory memory(request.device, {output.bytes(), op->workspace_bytes(), input.bytes()});
  input.data = static_cast<const float*>(memory.block(2));
  output.data = static_cast<float*>(memory.block(0));
  const void* const source = request.input == ElementType::kUint8
                                 ? static_cast<const void*>(subject.pixels.data())
                                 : subject.normalised.data();
  std::vector<float> first, answers(output.bytes() / sizeof(float));
  for (const int byte : {GuardedMemory::kNanByte, GuardedMemory::kMarkByte}) {
    memory.poison(byte, stream);
    memory.upload(2, source, stream);
    RunContext context{stream, memory.block(1), nullptr};
    op->run({input}, output, context);
    stream.synchronize();
    memory.download(0, answers.data(), stream);
    row.reason = memory.damage(byte, stream);
    if (!row.reason.empty()) {
      row.reason += " (blocks: 0 output, 1 workspace, 2 input)";
      return;
    }
    if (first.empty()) first = answers;
  }
  if (std::memcmp(first.data(), answers.data(), output.bytes()) != 0) {
    row.reason = "two runs differ";
    return;
  }
  std::vector<int32_t> picture_of(static_cast<size_t>(request.batch));
  std::iota(picture_of.begin(), picture_of.end(), 0);
  row.error.emplace();
  row.reason = subject.expected.compare(request.output, answers.data(), picture_of,
                                        model.output_bound(variant, request), *row.error);
}

ResultRow verify_case(const Subject& subject, const std::string& variant, const FusedRequest& request,
                      const SelfTestOptions& options, Stream& stream) {
  ResultRow row = row_for(variant, request);
  if (const Support support = subject.graph.fused()->supports(variant, request); !support) {
    row.status = "UNSUPPORTED";
    row.reason = support.reason();
    return row;
  }
  if (!options.usable) {
    row.status = "SKIPPED";
    row.reason = options.why_not;
    return row;
  }
  run_row(row, [&] {
    run_guarded(subject, variant, request, stream, row);
    row.status = row.reason.empty() ? "PASSED" : "FAILED";
    if (row.reason.empty()) row.repro = "bitwise";
  });
  return row;
}

}  // namespace

std::vector<ResultRow> fused_self_test(const SelfTestOptions& options) {
  const Subject subject(options.seed);
  const Device device = options.usable ? options.device : Device::cpu();
  DeviceGuard guard(device);
  Stream stream(device);
  std::vector<ResultRow> rows;
  for (const std::string& variant : subject.graph.fused()->variants(options.device.kind)) {
    for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
      for (const int64_t batch : kBatches) {
        for (const ElementType input : {ElementType::kFp32, ElementType::kUint8}) {
          for (const ElementType output : {ElementType::kFp32, ElementType::kPrediction}) {
            if (interrupted()) return rows;
            const FusedRequest request{options.device, batch, math, input, output};
            rows.push_back(verify_case(subject, variant, request, options, stream));
            if (rows.back().status == "ERROR") return rows;
          }
        }
      }
    }
  }
  return rows;
}

}  // namespace lenslet
