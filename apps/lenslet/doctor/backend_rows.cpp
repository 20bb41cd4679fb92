#include "apps/lenslet/doctor/backend_rows.h"

#include <functional>
#include <memory>

#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "framework/base/error.h"
#include "framework/device/stream.h"
#include "framework/graph/within_math.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/host_values.h"
#include "framework/tensor/poison.h"
#include "layers/conv/conv_layer.h"
#include "layers/conv/conv_registry.h"
#include "layers/reference/fill.h"

namespace lenslet {
namespace {

// Above this limit a plain CPU loop takes seconds per run, so it is not repeated.
constexpr double kMaxFlopsToRepeat = 2e10;

/// Something to prepare: an operator with its inputs and its output (without data).
struct Task {
  std::vector<ConstTensorView> inputs;
  TensorView output;
  double flops = 0;
  std::function<std::unique_ptr<Operator>(Stream&)> prepare;
};

/// Prepares the operator twice and runs each twice on the same random input.
class Repeater {
 public:
  Repeater(const Task& task, Device device) : task_(task), device_(device), stream_(device) {
    for (ConstTensorView view : task.inputs) {
      buffers_.push_back(uploaded(reference::uniform_values(view.bytes() / sizeof(float), 7), stream_));
      view.data = buffers_.back().as<float>();
      inputs_.push_back(view);
    }
    output_ = Buffer(device, task.output.bytes());
  }

  void fill(BackendRow& row) {
    const std::unique_ptr<Operator> first = task_.prepare(stream_);
    row.workspace_bytes = static_cast<int64_t>(first->workspace_bytes());
    row.workspace = format_bytes(static_cast<double>(row.workspace_bytes));
    if (task_.flops > kMaxFlopsToRepeat) return;
    const std::vector<uint8_t> a = result_of(*first), b = result_of(*first);
    const std::unique_ptr<Operator> second = task_.prepare(stream_);
    row.observed = a != b ? "no" : a == result_of(*second) ? "bitwise" : "per preparation";
  }

 private:
  std::vector<uint8_t> result_of(Operator& op) {
    Buffer workspace(device_, op.workspace_bytes());
    fill_bytes(output_.data(), device_, kNanByte, output_.bytes(), stream_);
    RunContext context{stream_, workspace.data(), nullptr};
    TensorView output = task_.output;
    output.data = output_.as<float>();
    op.run(inputs_, output, context);
    return host_values<uint8_t>(output, stream_);
  }

  const Task& task_;
  Device device_;
  Stream stream_;
  std::vector<Buffer> buffers_;
  std::vector<ConstTensorView> inputs_;
  Buffer output_;
};

std::string problem_of(const ShapedLayer& shaped) {
  const auto* conv = dynamic_cast<const Conv2dLayer*>(shaped.layer);
  return conv == nullptr ? std::string() : conv->problem_for(shaped.inputs.at(0)).to_string();
}

// Without the device the operator cannot be prepared, but a convolution still has an upper bound.
void bound_workspace(const ShapedLayer& shaped, const OperatorRequest& request, BackendRow& row) {
  const auto* conv = dynamic_cast<const Conv2dLayer*>(shaped.layer);
  if (conv == nullptr) return;
  const ConvBackendEntry& entry = find_conv_backend(request.device.kind, row.backend);
  row.workspace_bytes =
      static_cast<int64_t>(entry.open().workspace_bytes(conv->problem_for(shaped.inputs[0]), request.math));
  row.workspace = "<= " + format_bytes(static_cast<double>(row.workspace_bytes));
}

Task layer_task(const ShapedLayer& shaped, const std::string& backend, const OperatorRequest& request) {
  Task task;
  for (const Shape& shape : shaped.inputs) task.inputs.push_back({nullptr, shape, request.device});
  task.output = {nullptr, request.output, request.device};
  task.flops = shaped.layer->work(shaped.inputs).flops;
  task.prepare = [&shaped, backend, request](Stream& stream) {
    return shaped.layer->prepare(backend, request, stream);
  };
  return task;
}

// Lists the input types that the backend supports with the requested output, and the output types with the input.
void list_types(const Layer& layer, const OperatorRequest& request, BackendRow& row) {
  for (const ElementType type : {ElementType::kFp32, ElementType::kUint8, ElementType::kUint4}) {
    OperatorRequest other = request;
    other.input_type = type;
    if (layer.supports(row.backend, other)) row.reads.emplace_back(to_string(type));
  }
  for (const ElementType type : layer.output_types()) {
    OperatorRequest other = request;
    other.output_type = type;
    if (layer.supports(row.backend, other)) {
      row.writes.emplace_back(type == ElementType::kFp32 ? "logits" : to_string(type));
    }
  }
}

}  // namespace

std::vector<BackendRow> layer_rows(const ShapedLayer& shaped, const BackendQuery& query) {
  OperatorRequest request = request_for(*shaped.layer, shaped.inputs, query.device, query.math);
  request.workspace_limit = query.workspace_limit;
  OperatorRequest chosen = request;
  const BackendEntry* const preferred = choose_within_math(*shaped.layer, chosen);
  std::vector<BackendRow> rows;
  for (const std::string& backend : shaped.layer->backends(query.device.kind)) {
    BackendRow row;
    row.layer = shaped.name;
    row.problem = problem_of(shaped);
    row.type = shaped.layer->type();
    row.backend = backend;
    row.device = query.device;
    row.rank = static_cast<int>(rows.size()) + 1;
    row.uses_math = shaped.layer->uses_math();
    row.is_auto = preferred && backend == preferred->name();
    for (const MathMode math : kMathModes) {
      OperatorRequest requested = request;
      requested.math = math;
      Support support = shaped.layer->supports(backend, requested);
      if (!support && shaped.layer->converts_ends()) {  // int8 reads bytes alone
        requested.input_type = ElementType::kUint8;
        support = shaped.layer->supports(backend, requested);
      }
      row.supports.push_back(std::move(support));
    }
    if (shaped.layer->converts_ends()) list_types(*shaped.layer, request, row);
    attempt(row, [&] {
      if (const Support support = shaped.layer->supports(backend, request); !support)
        throw UnavailableError(support.reason());
      row.determinism = to_string(shaped.layer->determinism(backend, request));
      row.observed = "not run";
      if (!query.usable) return bound_workspace(shaped, request, row);
      Repeater(layer_task(shaped, backend, request), query.device).fill(row);
    });
    rows.push_back(std::move(row));
    throw_if_interrupted();
    if (query.pulse) query.pulse();
    if (rows.back().status == row_status::kError) break;  // after a CUDA fault every later call also fails
  }
  return rows;
}

}  // namespace lenslet
